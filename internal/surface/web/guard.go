package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// action answers one route. The error that it returns becomes a page.
type action func(w http.ResponseWriter, r *http.Request, v *visit) error

// audience says who may use a route.
type audience int

const (
	people audience = iota // whoever is signed in
	admins
	anyone
	senders // whoever is signed in, with files
)

// policy allows what we serve and nothing else. Forms post here and nowhere
// else: where an answer has to lead to another host, a page of ours does it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// maxForm bounds what a form may send; a consent may name many agents.
const maxForm = 256 << 10

// formTime is how long a browser may take to send one; without it a byte a
// minute would hold a connection for ever.
const formTime = 30 * time.Second

// headers go on everything, errors included.
func (s *Site) headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Frame-Options", "DENY")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// ServeHTTP answers for the console.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// guard finds out who is there before anything of the request is looked at,
// and refuses forms that another site sent.
func (s *Site) guard(who audience, do action) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := s.visit(r)
		if err != nil {
			s.fail(w, r, v, err)
			return
		}
		if v.User.ID != "" {
			r = r.WithContext(httpd.With(r.Context(), "caller", "user:"+v.User.ID))
		}
		if err := s.admit(r, who, v); err != nil {
			if beeos.CodeOf(err) == beeos.MissingToken {
				s.askToSignIn(w, r)
				return
			}
			s.fail(w, r, v, err)
			return
		}
		most, within := int64(maxForm), formTime
		if who == senders {
			most, within = maxUpload, files.UploadTime
		}
		r.Body = http.MaxBytesReader(w, r.Body, most)
		if r.Method == http.MethodPost {
			deadline := http.NewResponseController(w)
			if deadline.SetReadDeadline(time.Now().Add(within)) == nil {
				defer deadline.SetReadDeadline(time.Time{}) //nolint:errcheck // it worked a moment ago
			}
		}
		defer s.sweep(r) // net/http would, but knows only the request as it came, not the one with a caller
		if err := do(w, r, v); err != nil {
			s.fail(w, r, v, err)
		}
	})
}

// sweep removes what an upload left on the disk.
func (s *Site) sweep(r *http.Request) {
	if r.MultipartForm == nil {
		return
	}
	if err := r.MultipartForm.RemoveAll(); err != nil {
		s.Log.WarnContext(r.Context(), "an upload stays among the temporary files", "err", err)
	}
}

func (s *Site) admit(r *http.Request, who audience, v *visit) error {
	if err := s.cross.Check(r); err != nil {
		return beeos.Wrap(beeos.Forbidden, err, "this form came from another site; open the page here and send it again")
	}
	switch {
	case who != anyone && v.User.ID == "":
		return beeos.Errorf(beeos.MissingToken, "sign in first")
	case who == admins && !v.User.Admin:
		return beeos.Errorf(beeos.Forbidden, "this page is for admins; ask one of them")
	}
	return nil
}

// askToSignIn sends the visitor to the sign-in page, and back afterwards.
func (s *Site) askToSignIn(w http.ResponseWriter, r *http.Request) {
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

// local returns next when it is a path of this site, else "/".
func local(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Opaque != "" ||
		!strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t\x00") {
		return "/"
	}
	return next
}

// done sends the browser to a page that says what was done: one of the codes
// of said, never text.
func (s *Site) done(w http.ResponseWriter, r *http.Request, page, did string) error {
	if did != "" {
		page += "?did=" + url.QueryEscape(did)
	}
	http.Redirect(w, r, page, http.StatusSeeOther)
	return nil
}

// to leads to another page of ours.
func to(page string) action {
	return func(w http.ResponseWriter, r *http.Request, _ *visit) error {
		http.Redirect(w, r, page, http.StatusSeeOther)
		return nil
	}
}

// said is what the page after a change can say.
var said = map[string]string{
	"saved": "Saved.",

	"created":          "The agent is made. It connects within seconds.",
	"agent-changed":    "Saved. The agent restarts with it when its answers under way are done.",
	"agent-stopped":    "The agent is stopped. Who calls it is told that it is offline.",
	"agent-started":    "The agent is started. It connects within seconds.",
	"agent-deleted":    "The agent is deleted, with its keys and all that its skills were given.",
	"skill-added":      "The skill is added.",
	"skill-removed":    "The skill is removed, with all that it was given.",
	"skill-authorized": "Authorized. The agent can use the skill now.",
	"skill-forgotten":  "The authorization is forgotten. The server may still list it; end it there, too.",
	"tool-accepted":    "Accepted. The model sees the tool as it is now.",

	"titled":       "Renamed.",
	"chat-deleted": "The conversation is deleted.",

	"approved":    "Approved. The agent goes on.",
	"rejected":    "Rejected. The agent is told.",
	"key-revoked": "The key is revoked. It stopped working at once.",
	"app-revoked": "The app is disconnected. Its tokens stopped working.",
	"app-changed": "Saved. The app now reaches the agents you left ticked.",
	"renamed":     "Your name is changed.",
	"password":    "Your password is changed. Your other sessions were signed out.",
	"ended":       "That session is signed out.",
	"withdrawn":   "The invitation is withdrawn. Its link no longer works.",
	"disabled":    "The account is disabled: signed out everywhere, keys and agents included.",
	"enabled":     "The account is enabled again.",
	"admin":       "They are an admin now.",
	"no-admin":    "They are no longer an admin.",
	"signed-out":  "You are signed out.",
	"everywhere":  "You are signed out everywhere.",
}

func (s *Site) notFound(_ http.ResponseWriter, r *http.Request, _ *visit) error {
	return beeos.Errorf(beeos.NotFound, "there is no page %s", clean(r.URL.Path, 80))
}

// online reports whether an agent can be reached now.
func (s *Site) online(ctx context.Context, a *beeos.Agent) bool {
	return a.Active && s.Online != nil && s.Online(ctx, a.ID)
}
