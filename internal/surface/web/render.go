package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

//go:embed templates
var templateFiles embed.FS

// pages are the parsed templates by page. parts.html and layout.html are in
// all of them; a page's own file defines "content" and the rows of its lists,
// which its stream uses, too.
type pages map[string]*template.Template

// page is what every template gets.
type page struct {
	Title   string
	Room    string // the entry of the menu that is lit; "" = no menu
	User    beeos.User
	Theme   string
	Here    string // the path, to come back to
	Said    string // what was just done
	Problem string // what was wrong with the form
	Live    string // where the page's stream is
	Refresh string // where the browser goes by itself
	Now     time.Time
	Waiting int // approvals that wait for the visitor
	Data    any
}

func (s *Site) parse() (pages, error) {
	layout, err := template.New("layout.html").Funcs(s.functions()).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("parse templates: %w", err)
	}
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, err
	}
	all := pages{}
	for _, file := range names {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if name == "layout" || name == "parts" {
			continue
		}
		t, err := template.Must(layout.Clone()).ParseFS(templateFiles, file)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", file, err)
		}
		all[name] = t
	}
	return all, nil
}

func (s *Site) functions() template.FuncMap {
	return template.FuncMap{
		"static": s.files.url,
		"icon": func(name string) template.HTML {
			return template.HTML(`<svg class="icon" aria-hidden="true" focusable="false"><use href="` + s.files.url("icons.svg") + "#" + template.HTMLEscapeString(name) + `"/></svg>`) //nolint:gosec // both parts are ours
		},
		// boost lets htmx send a form and put the answer in place; without
		// JavaScript the browser does the same with a whole page.
		"boost": func() template.HTMLAttr {
			return `hx-boost="true" hx-target="#main" hx-select="#main" hx-swap="outerMorph show:none"`
		},
		"ago": func(t time.Time) template.HTML {
			return moment(t, ago(s.Now(), t))
		},
		"until": func(t time.Time) template.HTML {
			return moment(t, until(s.Now(), t))
		},
		"past":     func(t time.Time) bool { return !t.IsZero() && !t.After(s.Now()) },
		"took":     took,
		"plural":   plural,
		"clean":    clean,
		"markdown": markdown,
		"plain":    spoken,
		"spoken":   func(text string) []piece { return pieces(spoken(text)) },
		"dict":     dict,
	}
}

// moment says a time in words and has the exact one beside it.
func moment(t time.Time, words string) template.HTML {
	if t.IsZero() {
		return template.HTML(words) //nolint:gosec // one of our own words
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, //nolint:gosec // a formatted time
		t.UTC().Format(time.RFC3339), t.UTC().Format("2006-01-02 15:04:05 MST"), words))
}

// dict hands several values to a template.
func dict(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

// show renders a page whole before it sends anything.
func (s *Site) show(w http.ResponseWriter, r *http.Request, v *visit, status int, name string, p page) error {
	p.User, p.Theme, p.Now = v.User, theme(r), s.Now()
	p.Waiting = s.waiting(r.Context(), v)
	if p.Live == "" {
		p.Live = "/approvals/badge/live"
	}
	if p.Here == "" {
		p.Here = r.URL.Path
	}
	if r.Method == http.MethodGet && p.Said == "" {
		p.Said = said[r.URL.Query().Get("did")]
	}
	var b bytes.Buffer
	if err := s.pages[name].ExecuteTemplate(&b, "layout.html", p); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(b.Bytes()) //nolint:errcheck // the reader is gone; nobody is left to tell
	return nil
}

// part renders one named template of a page, for its stream.
func (s *Site) part(name, part string, data any) ([]byte, error) {
	var b bytes.Buffer
	err := s.pages[name].ExecuteTemplate(&b, part, data)
	return b.Bytes(), err
}

// failure is what the error page says.
type failure struct {
	Status  int
	Heading string
	Message string
	Request string // the id under which the log has more
}

// fail answers with the error page. Causes go to the log alone.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, v *visit, err error) {
	public, status := beeos.Public(err), httpd.StatusOf(err)
	if quiet(r) {
		if status >= http.StatusInternalServerError && public.Code != beeos.AgentOffline {
			httpd.Report(r, err)
		}
		http.Error(w, sentence(public.Message), status)
		return
	}
	f := failure{Status: status, Message: sentence(public.Message)}
	switch {
	case status == http.StatusNotFound:
		f.Heading = "Nothing here"
	case status == http.StatusForbidden:
		f.Heading = "Not allowed"
	case status >= http.StatusInternalServerError:
		f.Heading, f.Request = "That went wrong", httpd.RequestID(r.Context())
		httpd.Report(r, err)
	default:
		f.Heading = "That did not work"
	}
	httpd.SetRetryAfter(w, public)
	if err := s.show(w, r, v, status, "error", page{Title: f.Heading, Data: f}); err != nil {
		httpd.WriteError(w, r, err)
	}
}

// formError returns what a person can correct in a form, and whether it is
// that at all.
func formError(err error) (message string, status int, ok bool) {
	switch beeos.CodeOf(err) {
	case beeos.InvalidParam, beeos.InvalidBody, beeos.MissingParam, beeos.Conflict, beeos.LoginRejected, beeos.RateLimited:
		return sentence(beeos.Public(err).Message), httpd.StatusOf(err), true
	}
	return "", 0, false
}

// sentence makes a message of ours one: errors begin small and end open.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// theme is what the visitor chose; "" follows the system.
func theme(r *http.Request) string {
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}

// setTheme keeps the choice in a cookie, so that the first byte of every page
// knows it.
func (s *Site) setTheme(w http.ResponseWriter, r *http.Request, _ *visit) error {
	value, seconds := r.FormValue("theme"), 365*24*60*60
	if value != "light" && value != "dark" {
		value, seconds = "", -1
	}
	http.SetCookie(w, &http.Cookie{Name: themeCookie, Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, Secure: s.safe(r), SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, local(r.FormValue("back")), http.StatusSeeOther)
	return nil
}
