package account

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// consentWithin is how long a person may take.
const consentWithin = 10 * time.Minute

const thankYouPage = "<!doctype html><meta charset=utf-8><title>BeeOS</title><p>Thank you. You can close this page and go back to the terminal.\n"

// pickRedirect is an address on this machine that nobody uses (RFC 8252). It is
// kept, because clients are registered with it.
func pickRedirect() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a port for the way back from an authorization server: %w", err)
	}
	defer l.Close()
	return "http://" + l.Addr().String() + "/callback", nil
}

// EnsureConsent makes sure that there is consent, where that is what it takes
// and somebody is there to give it.
func (g *Transport) EnsureConsent(ctx context.Context) error {
	if g == nil || g.opt.Show == nil || g.opt.Secret+g.opt.Key != "" {
		return nil
	}
	if s, err := g.vault.Last(ctx); err != nil || s != nil && s.Access != "" {
		return err
	}
	return g.askConsent(ctx)
}

// askConsent sends the person to the authorization server and waits until they
// come back.
func (g *Transport) askConsent(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, consentWithin, errors.New("nobody came back from the authorization server in time"))
	defer cancel()
	p, err := g.Start(ctx)
	if beeos.CodeOf(err) == beeos.Conflict && err != nil {
		return nil // it lets us in
	}
	if err != nil {
		return PublicError(err)
	}
	back, err := url.Parse(g.redirect)
	if err != nil {
		return fmt.Errorf("the way back from the authorization server is no address: %w", err)
	}
	l, err := net.Listen("tcp", back.Host)
	if err != nil {
		return fmt.Errorf("nobody could come back from the authorization server: %w", err)
	}
	came := make(chan url.Values, 1)
	s := &http.Server{ReadHeaderTimeout: upstream.ExitWithin, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != back.Path || q.Get("state") != p.State {
			http.Error(w, "this page belongs to nothing that was begun here", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, thankYouPage)
		select {
		case came <- q:
		default: // the page was loaded again
		}
	})}
	var serving errgroup.Group
	serving.Go(func() error { return s.Serve(l) })
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), upstream.ExitWithin)
		defer cancel()
		_ = s.Shutdown(end) // whoever still reads the page has read it
		_ = serving.Wait()  // it says that it was shut down
	}()
	g.opt.Show(p.URL)
	select {
	case q := <-came:
		if err := g.Finish(ctx, p, q); err != nil {
			return PublicError(err)
		}
		g.Forget()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
