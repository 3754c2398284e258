package page

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/surface/web/safetext"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// Action answers one route: with a View, a Redirect or a Writer. An error goes
// first, and becomes a page. Form and Live make actions out of others.
type Action func(r *Request) (Answer, error)

// Request is a request whose visitor is known.
type Request struct {
	*http.Request
	*Visitor
	w       http.ResponseWriter
	problem string // what was wrong with the form
	status  int    // of the page that says so
}

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

	strangersForm = 16 << 10 // without a sign-in there are only short ones, and anybody can send thousands
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
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
		r := &Request{Request: req, w: w}
		err := s.identifyVisitor(r)
		if err == nil {
			err = s.admit(r, who)
		}
		if beeos.CodeOf(err) == beeos.MissingToken {
			askToSignIn(w, req)
			return
		}
		if err == nil {
			defer s.removeUploads(r) // net/http would, but knows only the request as it came, not the one with a caller
			r.limitBody(who)
			if err = r.readForm(who); err == nil {
				err = s.perform(r, do)
			}
		}
		if err != nil {
			s.showError(r, err)
		}
	})
}

func (s *Server) perform(r *Request, do Action) error {
	answer, err := do(r)
	if err != nil {
		return err
	}
	return answer.write(s, r)
}

// limitBody bounds how much the browser may send; files may take their time.
func (r *Request) limitBody(who Audience) {
	most := int64(maxForm)
	switch {
	case who == FileSenders:
		most = maxUpload
		httpd.AllowBody(r.w, files.UploadTime)
	case r.User.ID == "":
		most = strangersForm
	}
	r.Body = http.MaxBytesReader(r.w, r.Body, most)
}

// removeUploads removes the temporary files of an upload.
func (s *Server) removeUploads(r *Request) {
	if r.MultipartForm == nil {
		return
	}
	if err := r.MultipartForm.RemoveAll(); err != nil {
		s.Log.WarnContext(r.Context(), "temporary files of an upload remain", "err", err)
	}
}

func (s *Server) admit(r *Request, who Audience) error {
	if err := s.cross.Check(r.Request); err != nil {
		return beeos.Wrap(beeos.Forbidden, err, "this form came from another site; open the page here and send it again")
	}
	switch {
	case who != Anyone && r.User.ID == "":
		return beeos.Errorf(beeos.MissingToken, "sign in first")
	case who == Admins && !r.User.Admin:
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

// isScripted reports whether a script sent the form: it has the page already
// and only wants to know whether the form worked.
func (r *Request) isScripted() bool {
	return r.Header.Get("HX-Request") != "" && r.Header.Get("Accept") == "text/plain"
}

func showNotFound(r *Request) (Answer, error) {
	return nil, beeos.Errorf(beeos.NotFound, "there is no page %s", safetext.Line(r.URL.Path, 80))
}
