// Package page is what all rooms of the console share: who visits and may see
// what (visitor.go, guard.go), what an action answers, also to a form that it
// cannot take (answer.go), templates with their layout and the static files
// (render.go, static.go), errors as pages, the notice after a change
// (notices.go), streams that keep pages fresh (stream.go) and the parts that
// several rooms show (parts.go, words.go). A room hands its templates to
// AddTemplates and its routes to Handle.
package page

import (
	"context"
	"embed"
	"html/template"
	"log/slog"
	"net/http"
	"time"

	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/access/signin"
)

//go:embed templates
var templates embed.FS

// Options is what pages stand on.
type Options struct {
	People    *signin.People
	Log       *slog.Logger
	Now       func() time.Time
	PublicURL string // where people reach the console, without a slash at the end

	// Streams counts open streams, and ends them with their session; nil = a
	// set of its own.
	Streams *auth.Streams

	// CountWaiting says how many approvals wait for a user.
	CountWaiting func(ctx context.Context, userID string) (int, error)
}

// Server serves pages: rooms register their routes with it and show their
// pages through it.
type Server struct {
	Options
	mux     *http.ServeMux
	cross   *http.CrossOriginProtection
	layout  *template.Template                            // parts.html and layout.html, which every page has
	pages   map[string]func() (*template.Template, error) // by the name of the file
	static  staticFiles
	streams streams
}

// New parses the layout and registers what belongs to no room.
func New(opt Options) (*Server, error) {
	if opt.Streams == nil {
		opt.Streams = auth.NewStreams()
	}
	s := &Server{Options: opt, mux: http.NewServeMux(), cross: http.NewCrossOriginProtection(), pages: map[string]func() (*template.Template, error){}, streams: streams{wakes: map[chan struct{}]bool{}}}
	if err := s.cross.AddTrustedOrigin(opt.PublicURL); err != nil {
		return nil, err
	}
	var err error
	if s.static, err = loadStatic(); err != nil {
		return nil, err
	}
	if s.layout, err = s.parseLayout(); err != nil {
		return nil, err
	}
	if err := s.AddTemplates(templates); err != nil {
		return nil, err
	}
	s.mux.Handle("GET /static/", s.static)
	s.mux.Handle("GET /favicon.ico", http.RedirectHandler(s.static.url("logo.svg"), http.StatusFound))
	s.Handle("POST /theme", Anyone, s.setTheme)
	s.Handle("GET /approvals/badge/live", SignedIn, Live(func(*Request) (Answer, error) { return View{Page: "error"}, nil })) // for pages that have no stream
	s.Handle("/", Anyone, showNotFound)
	return s, nil
}

// ServeHTTP answers for the console.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	s.mux.ServeHTTP(w, r)
}
