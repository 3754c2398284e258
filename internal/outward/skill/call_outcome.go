package skill

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/outbound"
)

// fate is how far a call got on its way to the server. The client library does
// not tell: a session that ends makes all its calls fail alike, those that the
// server refused and those that it was carrying out.
type fate struct {
	blind bool // no HTTP: nothing is seen of its way

	mu     sync.Mutex
	sent   bool
	status int   // of the server's answer
	err    error // instead of an answer
	cut    error // why an answer was not read to its end
}

type fateKey struct{}

// followCall returns a context for one call and its fate.
func (c *Client) followCall(ctx context.Context) (context.Context, *fate) {
	f := &fate{blind: c.opt.Local != nil || len(c.opt.Command) > 0}
	return context.WithValue(ctx, fateKey{}, f), f
}

// watchedTransport notes on the fate of a call what becomes of its request.
type watchedTransport struct{ base http.RoundTripper }

func (w watchedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	f, _ := r.Context().Value(fateKey{}).(*fate)
	if f == nil || r.Method != http.MethodPost {
		return w.base.RoundTrip(r)
	}
	first := f.markSent()
	resp, err := w.base.RoundTrip(r)
	if err == nil {
		resp.Body = watchedBody{resp.Body, f}
	}
	if !first {
		return resp, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err = err; err == nil {
		f.status = resp.StatusCode
	}
	return resp, err
}

// watchedBody notes on the fate of a call that its answer is too long, which the
// client library does not tell either.
type watchedBody struct {
	io.ReadCloser
	f *fate
}

func (h watchedBody) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	if errors.Is(err, outbound.ErrTooLarge) {
		h.f.mu.Lock()
		h.f.cut = err
		h.f.mu.Unlock()
	}
	return n, err
}

// cutOff is why an answer was not read to its end; nil = none was.
func (f *fate) cutOff() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cut
}

// markSent notes that a request is on its way, and reports whether this is the
// call itself, and not what is said about it later.
func (f *fate) markSent() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.sent
	f.sent = true
	return !was
}

// mayHaveRun reports whether the server may have carried the call out: it took
// it, or nobody knows whether it did.
func (f *fate) mayHaveRun() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	var ours *beeos.Error
	var dial *net.OpError
	switch {
	case f.blind:
		return true
	case !f.sent, errors.As(f.err, &ours), errors.As(f.err, &dial) && dial.Op == "dial":
		return false
	case f.err != nil:
		return true
	}
	return f.status < 400 || f.status >= 500
}

// stale reports whether the call failed because its session was over before.
func (f *fate) stale() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.blind && (!f.sent || f.status == http.StatusNotFound)
}

// broken reports whether an error is the connection's, or that of something
// between here and the server, and not the server's answer.
func (f *fate) broken(err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	var answer *jsonrpc.Error
	return f.err != nil || f.status >= 500 || !errors.As(err, &answer) || errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, mcp.ErrSessionMissing)
}
