package page

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/surface/web/safetext"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// Action answers one route. The error that it returns becomes a page.
type Action func(w http.ResponseWriter, r *http.Request, v *Visitor) error

// Audience says who may use a route.
type Audience int

// Audiences.
const (
	SignedIn    Audience = iota // whoever is signed in
	Admins                      // those of them who are admins
	Anyone                      // no sign-in needed
	FileSenders                 // whoever is signed in; the form may carry files
)

// policy allows what we serve and nothing else. Forms post here and nowhere
// else: where an answer has to lead to another host, a page of ours does it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

const (
	maxForm   = 256 << 10 // bytes; a consent may name many agents
	maxUpload = files.MaxBytes + maxForm

	// formTime is how long a browser may take to send a form; without it a byte
	// a minute would hold a connection for ever.
	formTime = 30 * time.Second
)

// setHeaders sets what goes on every response, errors included.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	h.Set("Cache-Control", "no-store")
}

// Handle registers a route. Before the action sees anything of a request, it
// is known who is there, and forms that another site sent are refused.
func (s *Server) Handle(pattern string, who Audience, do Action) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		v, err := s.identifyVisitor(r)
		if err != nil {
			s.showError(w, r, v, err)
			return
		}
		if v.User.ID != "" {
			r = r.WithContext(httpd.With(r.Context(), "caller", "user:"+v.User.ID))
		}
		if err := s.admit(r, who, v); err != nil {
			if beeos.CodeOf(err) == beeos.MissingToken {
				askToSignIn(w, r)
				return
			}
			s.showError(w, r, v, err)
			return
		}
		most, within := int64(maxForm), formTime
		if who == FileSenders {
			most, within = maxUpload, files.UploadTime
		}
		r.Body = http.MaxBytesReader(w, r.Body, most)
		if r.Method == http.MethodPost {
			deadline := http.NewResponseController(w)
			if deadline.SetReadDeadline(time.Now().Add(within)) == nil {
				defer deadline.SetReadDeadline(time.Time{}) //nolint:errcheck // it worked a moment ago
			}
		}
		defer s.removeUploads(r) // net/http would, but knows only the request as it came, not the one with a caller
		if err := do(w, r, v); err != nil {
			s.showError(w, r, v, err)
		}
	})
}

// removeUploads removes the temporary files of an upload.
func (s *Server) removeUploads(r *http.Request) {
	if r.MultipartForm == nil {
		return
	}
	if err := r.MultipartForm.RemoveAll(); err != nil {
		s.Log.WarnContext(r.Context(), "temporary files of an upload remain", "err", err)
	}
}

func (s *Server) admit(r *http.Request, who Audience, v *Visitor) error {
	if err := s.cross.Check(r); err != nil {
		return beeos.Wrap(beeos.Forbidden, err, "this form came from another site; open the page here and send it again")
	}
	switch {
	case who != Anyone && v.User.ID == "":
		return beeos.Errorf(beeos.MissingToken, "sign in first")
	case who == Admins && !v.User.Admin:
		return beeos.Errorf(beeos.Forbidden, "this page is for admins; ask one of them")
	}
	return nil
}

// askToSignIn sends the visitor to the sign-in page, and back afterwards.
func askToSignIn(w http.ResponseWriter, r *http.Request) {
	target := "/signin"
	if r.Method == http.MethodGet && r.URL.Path != "/" && !strings.HasSuffix(r.URL.Path, "/live") {
		target += "?next=" + url.QueryEscape(r.URL.RequestURI())
	}
	if r.Header.Get("HX-Request") != "" {
		w.Header().Set("HX-Redirect", target) // the whole page, not a part of it
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	http.Redirect(w, r, target, http.StatusSeeOther)
}

// LocalPath returns next if it is a path of this site, else "/".
func LocalPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Opaque != "" ||
		!strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t\x00") {
		return "/"
	}
	return next
}

// IsScripted reports whether a script sent the form: it has the page already
// and only wants to know whether the form worked.
func IsScripted(r *http.Request) bool {
	return r.Header.Get("HX-Request") != "" && r.Header.Get("Accept") == "text/plain"
}

func showNotFound(_ http.ResponseWriter, r *http.Request, _ *Visitor) error {
	return beeos.Errorf(beeos.NotFound, "there is no page %s", safetext.Line(r.URL.Path, 80))
}
