package page

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/web/safetext"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// View is a page to show: which, and what its template gets.
type View struct {
	Page    string // the name of its template's file
	Status  int    // 0 = 200, or that of the problem
	Next    string // where the browser goes on to by itself, at once
	Title   string
	Room    string // the entry of the menu that is lit; "" = no menu
	User    beeos.User
	Theme   string
	Here    string // the path, to come back to
	Said    string // what was just done
	Problem string // what was wrong with the form
	Live    string // where the page's stream is
	Waiting int    // approvals that wait for the visitor
	Data    any
}

func (s *Server) parseLayout() (*template.Template, error) {
	t, err := template.New("layout.html").Funcs(s.functions()).ParseFS(templates, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("parse templates: %w", err)
	}
	return t, nil
}

// AddTemplates adds the pages of a room: the files in its folder templates.
// Each defines "content", and the rows of its lists, which its stream uses, too.
// They are parsed when somebody first looks: together they are more memory than all
// else of a server, and one that only passes on calls is the better for it.
func (s *Server) AddTemplates(files fs.FS) error {
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		return err
	}
	for _, file := range names {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if name == "layout" || name == "parts" {
			continue
		}
		s.pages[name] = sync.OnceValues(func() (*template.Template, error) {
			t, err := template.Must(s.layout.Clone()).ParseFS(files, file)
			if err != nil {
				return nil, fmt.Errorf("parse %s: %w", file, err)
			}
			return t, nil
		})
	}
	return nil
}

// findPage returns the templates of a page.
func (s *Server) findPage(name string) (*template.Template, error) {
	parsed, ok := s.pages[name]
	if !ok {
		return nil, fmt.Errorf("there is no page %q", name)
	}
	return parsed()
}

// RenderPart renders one named template of a page.
func (s *Server) RenderPart(page, part string, data any) ([]byte, error) {
	t, err := s.findPage(page)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, part, data); err != nil {
		return nil, fmt.Errorf("render %s: %w", page, err)
	}
	return b.Bytes(), nil
}

func (s *Server) functions() template.FuncMap {
	return template.FuncMap{
		"static": s.static.url,
		"icon": func(name string) template.HTML {
			return template.HTML(`<svg class="icon" aria-hidden="true" focusable="false"><use href="` + s.static.url("icons.svg") + "#" + template.HTMLEscapeString(name) + `"/></svg>`) //nolint:gosec // both parts are ours
		},
		// boost lets htmx send a form and put the answer in place; without
		// JavaScript the browser does the same with a whole page.
		"boost": func() template.HTMLAttr {
			return `hx-boost="true" hx-target="#main" hx-select="#main" hx-swap="outerMorph show:none"`
		},
		"ago": func(t time.Time) template.HTML {
			return formatTime(t, Ago(s.Now(), t))
		},
		"until": func(t time.Time) template.HTML {
			return formatTime(t, Until(s.Now(), t))
		},
		"took":      FormatDuration,
		"plural":    Plural,
		"thousands": Thousands,
		"clean":     safetext.Line,
		"markdown":  safetext.Markdown,
		"reveal":    safetext.Reveal,
		"pieces":    safetext.Pieces,
		"dict":      dict,
	}
}

// formatTime says a time in words, with the exact time beside it.
func formatTime(t time.Time, words string) template.HTML {
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

// write renders the whole page before it sends anything.
func (p View) write(s *Server, r *Request) error {
	p.User, p.Theme = r.User, chosenTheme(r.Request)
	p.Waiting = s.countWaiting(r)
	p.Problem = cmp.Or(p.Problem, r.problem)
	p.Live = cmp.Or(p.Live, "/approvals/badge/live")
	p.Here = cmp.Or(p.Here, r.URL.Path)
	if r.Method == http.MethodGet && p.Said == "" {
		p.Said = notices[r.URL.Query().Get("did")]
	}
	html, err := s.RenderPart(p.Page, "layout.html", p)
	if err != nil {
		return err
	}
	if p.Next != "" {
		r.w.Header().Set("Refresh", "0; url="+p.Next)
	}
	r.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	r.w.WriteHeader(cmp.Or(p.Status, r.status, http.StatusOK))
	r.w.Write(html) //nolint:errcheck // the reader is gone; nobody is left to tell
	return nil
}

// failure is what the error page says.
type failure struct {
	Status  int
	Code    beeos.Code
	Heading string
	Message string
	Request string // the id under which the log has more
}

// showError answers with the error page. The cause goes to the log alone.
func (s *Server) showError(r *Request, err error) {
	public, status := beeos.Public(err), httpd.StatusOf(err)
	httpd.CountRefusal(r.Request, err)
	if r.isScripted() {
		if status >= http.StatusInternalServerError && public.Code != beeos.AgentOffline {
			httpd.Report(r.Request, err)
		}
		http.Error(r.w, Sentence(public.Message), status)
		return
	}
	f := failure{Status: status, Code: public.Code, Message: Sentence(public.Message)}
	switch {
	case status == http.StatusNotFound:
		f.Heading = "Nothing here"
	case status == http.StatusForbidden:
		f.Heading = "Not allowed"
	case status >= http.StatusInternalServerError:
		f.Heading, f.Request = "Something went wrong", httpd.RequestID(r.Context())
		httpd.Report(r.Request, err)
	default:
		f.Heading = "That did not work"
	}
	httpd.SetRetryAfter(r.w, public)
	view := View{Page: "error", Status: status, Title: f.Heading, Data: f}
	if r.User.ID != "" {
		view.Room = "none" // the menu, with nothing lit
	}
	if err := view.write(s, r); err != nil {
		httpd.WriteError(r.w, r.Request, err)
	}
}

const themeCookie = "beeos_theme"

// chosenTheme is what the visitor chose; "" follows the system.
func chosenTheme(r *http.Request) string {
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}

// setTheme keeps the choice in a cookie, so that the first byte of every page
// knows it.
func (s *Server) setTheme(r *Request) (Answer, error) {
	value, seconds := r.FormValue("theme"), 365*24*60*60
	if value != "light" && value != "dark" {
		value, seconds = "", -1
	}
	http.SetCookie(r.w, &http.Cookie{Name: themeCookie, Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, Secure: s.KeepsCookies(r), SameSite: http.SameSiteLaxMode})
	return Redirect(LocalPath(r.FormValue("back")), ""), nil
}
