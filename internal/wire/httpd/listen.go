package httpd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/internal/telemetry"
	"github.com/beeos/beeos/internal/wire/tcp"
)

const (
	headerTime = 5 * time.Second  // to send the request's headers
	idleTime   = 2 * time.Minute  // between two requests of a connection
	drainTime  = 10 * time.Second // for requests in flight at shutdown
	maxHeaders = 64 << 10
)

// Part is one surface on one address. One without an address is reached at that
// of a part with a Pick alone.
type Part struct {
	Name    string
	Addr    string
	Spare   string       // where to listen when another program has Addr; empty = that is an error
	Setting string       // what sets Addr, for errors; empty = NAME_ADDR
	Handler http.Handler // may also be given later, with Server.Handle
	Hosts   []string     // public names under which a proxy reaches a loopback Addr
	HTTPS   bool         // the public is spoken to in https, by us or by a proxy
	TLS     *tls.Config  // nil = plain HTTP
	Watched bool         // clients stay connected, and it matters soon that one is gone
	Local   string       // see Handler
	Public  bool         // it looks at hosts itself, also where it listens on loopback behind a proxy
	Last    bool         // it answers until all others have drained: whoever watches sees them do it

	// Pick makes this address one that parts share: it names the part that a
	// request is for. What is no part, or "", is answered by this one itself.
	Pick func(*http.Request) string
}

// Server is a set of parts whose ports are open. The exported fields may be
// set until Serve.
type Server struct {
	Log     *slog.Logger
	Metrics *telemetry.Metrics
	Ready   []Check       // what /readyz asks
	Proxies *Proxies      // whose word on clients counts
	Help    string        // URL of the page that explains the codes of errors
	Drain   time.Duration // how long requests in flight may take at shutdown

	parts     []Part
	listeners []net.Listener // nil = that part has none
	crowd     *crowd
	stopping  atomic.Bool
}

// Listen opens the ports of all parts, or of none: whoever starts BeeOS hears
// about every kind of port trouble before anything has begun.
func Listen(parts []Part) (*Server, error) {
	s := &Server{Drain: drainTime, parts: parts, crowd: newCrowd(descriptorLimit())}
	var taken []Part
	for _, p := range parts {
		if p.Addr == "" {
			s.listeners = append(s.listeners, nil)
			continue
		}
		ln, err := p.listen(p.Addr)
		if p.Spare != "" && errors.Is(err, syscall.EADDRINUSE) {
			ln, err = p.listen(p.Spare)
		}
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			taken = append(taken, p)
		case err != nil:
			s.Close()
			return nil, listenError(p, err)
		default:
			s.listeners = append(s.listeners, s.crowd.newDoor(ln))
		}
	}
	if len(taken) > 0 {
		s.Close()
		return nil, takenError(taken)
	}
	return s, nil
}

func (p Part) listen(addr string) (net.Listener, error) {
	if p.Watched {
		return tcp.Listen(context.Background(), addr)
	}
	return net.Listen("tcp", addr)
}

// takenError names every port that another program has, since it is mostly
// one program that has them all.
func takenError(taken []Part) error {
	var ports, settings []string
	for _, p := range taken {
		_, port, _ := net.SplitHostPort(p.Addr)
		ports, settings = append(ports, port), append(settings, p.setting())
	}
	if len(taken) == 1 {
		return fmt.Errorf("port %s is in use — stop the other program or set %s", ports[0], settings[0])
	}
	return fmt.Errorf("ports %s are in use — stop the other program or set %s", strings.Join(ports, ", "), strings.Join(settings, ", "))
}

// setting names what sets Addr.
func (p Part) setting() string {
	if p.Setting != "" {
		return p.Setting
	}
	return strings.ToUpper(p.Name) + "_ADDR"
}

// listenError says in one sentence what to do about an address.
func listenError(p Part, err error) error {
	setting := p.setting()
	host, port, splitErr := net.SplitHostPort(p.Addr)
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("port %s is reserved for root — set %s to a port above 1023", port, setting)
	case errors.Is(err, syscall.EADDRNOTAVAIL), splitErr == nil && errors.As(err, &dns):
		return fmt.Errorf("this machine has no address %s — set %s to one of its own, or to :%s for all of them", host, setting, port)
	}
	return fmt.Errorf("cannot listen on %q — set %s to host:port, for example 127.0.0.1:8094 (%w)", p.Addr, setting, err)
}

// Addr returns the address that a part really has, with its port when 0 was
// asked for, or "" when it has none.
func (s *Server) Addr(name string) string {
	for i, p := range s.parts {
		if p.Name == name && s.listeners[i] != nil {
			return s.listeners[i].Addr().String()
		}
	}
	return ""
}

// Handle gives a part its handler, for those that have to know their address
// first. It panics when there is no such part.
func (s *Server) Handle(name string, h http.Handler) { s.Part(name).Handler = h }

// Part returns a part, for what is known about it only after Listen. It panics
// when there is no such part.
func (s *Server) Part(name string) *Part {
	for i := range s.parts {
		if s.parts[i].Name == name {
			return &s.parts[i]
		}
	}
	panic("httpd: no part is named " + name)
}

// Close gives the ports back, for a start that fails after Listen.
func (s *Server) Close() error {
	var errs []error
	for _, ln := range s.listeners {
		if ln != nil {
			errs = append(errs, ln.Close())
		}
	}
	return errors.Join(errs...)
}

// Serve answers requests until ctx ends or a listener fails. Requests see
// ctx's end at once, so that streams finish by themselves; what is still
// running after Drain is cut off.
func (s *Server) Serve(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	servers := map[string]*http.Server{}
	for i, p := range s.parts {
		ln := s.listeners[i]
		if ln == nil {
			continue
		}
		srv := s.server(ctx, p, ln)
		servers[p.Name] = srv
		group.Go(func() error {
			if err := serveListener(srv, ln); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve %s: %w", p.Name, err)
			}
			return nil
		})
	}
	group.Go(func() error {
		<-ctx.Done()
		s.shutdown(context.WithoutCancel(ctx), servers)
		return nil
	})
	return group.Wait()
}

func serveListener(srv *http.Server, ln net.Listener) error {
	if srv.TLSConfig != nil {
		return srv.ServeTLS(ln, "", "")
	}
	return srv.Serve(ln)
}

func (s *Server) server(ctx context.Context, p Part, ln net.Listener) *http.Server {
	return &http.Server{
		Handler:           s.handler(p, ln),
		TLSConfig:         p.TLS,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       noteCrowd,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeaders,
		ErrorLog:          log.New(serverLog{s.log()}, "", 0),
	}
}

// handler answers at one listener: for its part, and where it has a Pick for the
// others as well, each with a handler of its own.
func (s *Server) handler(p Part, ln net.Listener) http.Handler {
	loopback := false
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok && !p.Public {
		loopback = tcp.IP.IsLoopback()
	}
	wrap := func(q Part) http.Handler {
		h := &Handler{
			Next: q.Handler, Log: s.log(), Ready: s.Ready, Proxies: s.Proxies,
			Loopback: loopback, Hosts: p.Hosts, HTTPS: p.HTTPS, Local: p.Local, Help: s.Help, Stopping: &s.stopping,
		}
		if s.Metrics != nil {
			h.HTTP = s.Metrics.HTTP(q.Name)
		}
		return h
	}
	own := wrap(p)
	if p.Pick == nil {
		return own
	}
	behind := map[string]http.Handler{p.Name: own}
	for _, q := range s.parts {
		if behind[q.Name] == nil && q.Handler != nil {
			behind[q.Name] = wrap(q)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := behind[p.Pick(r)]
		if h == nil {
			h = own
		}
		h.ServeHTTP(w, r)
	})
}

// serverLog takes what net/http complains about. Handshakes that came to nothing
// are no news on an address that scanners find.
type serverLog struct{ log *slog.Logger }

func (l serverLog) Write(line []byte) (int, error) {
	text, level := strings.TrimSpace(string(line)), slog.LevelWarn
	if strings.Contains(text, "TLS handshake error") {
		level = slog.LevelDebug
	}
	l.log.Log(context.Background(), level, text)
	return len(line), nil
}

func (s *Server) log() *slog.Logger {
	if s.Log != nil {
		return s.Log
	}
	return slog.Default()
}
