package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/test/ports"
)

// front stands between the suite and the server for three things that the suite
// does not do. It has no credentials. It sends one message id for many
// tasks, with the same words and with others, where an id stands for one
// message: each request gets an idempotency key of its own, which wins over it.
// And it fetches the card without a version, as clients of 0.3 do, but admits
// none of the members that those need: it is given the card of 1.0 alone.
type front struct {
	ln     net.Listener
	url    string
	server string // the address that the server is to listen on
	free   func() // gives that address back
}

func openFront() (*front, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addrs, free, err := ports.Addrs(1)
	if err != nil {
		return nil, err
	}
	return &front{ln, "http://" + ln.Addr().String(), addrs[0], free}, nil
}

func (f *front) serve(ctx context.Context, key string) {
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: f.server})
		r.Out.Header.Set("Authorization", "Bearer "+key)
		r.Out.Header.Set("Idempotency-Key", beeos.NewID())
		if strings.HasSuffix(r.In.URL.Path, "/agent-card.json") {
			r.Out.Header.Set("A2A-Version", "1.0")
		}
	}}
	server := &http.Server{Handler: proxy}
	context.AfterFunc(ctx, func() { server.Close() })
	go server.Serve(f.ln) //nolint:errcheck // until ctx ends
}
