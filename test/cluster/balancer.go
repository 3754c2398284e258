//go:build unix

package cluster

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
)

// Balancer spreads requests over the nodes one by one, whoever sends them: the
// next request of a session goes to another node, and so does the answer to a
// question. It passes Host and Origin on as they came, and adds a credential
// where a client that cannot have one sent none.
type Balancer struct {
	URL string

	server *http.Server
	log    output
	mu     sync.Mutex
	key    string
	nodes  []string
	next   int
}

// output keeps what is written to it.
type output struct {
	mu   sync.Mutex
	said bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.said.Write(b)
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.said.String()
}

func newBalancer() (*Balancer, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &Balancer{URL: "http://" + ln.Addr().String()}
	b.server = &http.Server{Handler: &httputil.ReverseProxy{
		Rewrite:       b.rewrite,
		FlushInterval: -1, // streams go through as they come
		ErrorLog:      log.New(&b.log, "", log.Lmicroseconds),
	}}
	go b.server.Serve(ln) //nolint:errcheck // ends with close
	return b, nil
}

// Use sends what comes from now on to these nodes. Without a key it adds none.
func (b *Balancer) Use(key string, nodes ...*Node) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.key, b.nodes = key, nil
	for _, n := range nodes {
		b.nodes = append(b.nodes, n.MCP)
	}
}

func (b *Balancer) rewrite(r *httputil.ProxyRequest) {
	node, key := b.pick()
	r.SetURL(&url.URL{Scheme: "http", Host: node})
	r.Out.Host = r.In.Host
	// Whole, before it goes on: a server that answers while the last byte is
	// on its way would otherwise make the transport drop the connection.
	body, err := io.ReadAll(r.In.Body)
	if err == nil && len(body) > 0 {
		r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	if r.In.Header.Get("Authorization") == "" && key != "" {
		r.Out.Header.Set("Authorization", "Bearer "+key)
	}
}

func (b *Balancer) pick() (node, key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.nodes) == 0 {
		return "127.0.0.1:0", b.key // refused
	}
	b.next++
	return b.nodes[b.next%len(b.nodes)], b.key
}

func (b *Balancer) close() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = b.server.Shutdown(ctx) // now
	_ = b.server.Close()
}
