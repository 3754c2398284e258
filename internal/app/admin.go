package app

import (
	"net/http"
	"net/http/pprof"
	"net/netip"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// adminPart is the listener that is the operator's own, in every process:
// what it shows needs no credential, so it is kept off the public ports.
const adminPart = "admin"

// openAdmin gives the operator's listener its pages, if there is one. Those
// about health every listener has.
func (p *parts) openAdmin() {
	addr := p.server.Addr(adminPart)
	if addr == "" {
		return
	}
	p.info.Admin = config.URLFor(addr)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", p.metrics.Handler())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		httpd.WriteError(w, r, beeos.Errorf(beeos.NotFound, "there is no such page; the operator's are /metrics, /healthz, /readyz and, on a loopback address, /debug/pprof/"))
	})
	// Profiles show memory, and with it what people wrote. Numbers may be read by
	// a monitor on another machine; profiles by whoever is on this one.
	if at, err := netip.ParseAddrPort(addr); err == nil && at.Addr().Unmap().IsLoopback() {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	p.server.Handle(adminPart, mux)
}
