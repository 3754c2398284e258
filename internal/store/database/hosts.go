package database

import (
	"crypto/tls"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// host is a PostgreSQL server that the database URL names, with the ways to it:
// with TLS, without, or first the one and then the other.
type host struct {
	address string
	port    uint16
	ways    []*tls.Config
}

func (h *host) name() string {
	if strings.HasPrefix(h.address, "/") {
		return h.address
	}
	return net.JoinHostPort(h.address, strconv.Itoa(int(h.port)))
}

// hostsOf lists the servers in the order of the URL.
func hostsOf(cfg *pgx.ConnConfig) (hosts []host) {
	add := func(address string, port uint16, way *tls.Config) {
		if n := len(hosts); n > 0 && hosts[n-1].address == address && hosts[n-1].port == port {
			hosts[n-1].ways = append(hosts[n-1].ways, way)
			return
		}
		hosts = append(hosts, host{address, port, []*tls.Config{way}})
	}
	add(cfg.Host, cfg.Port, cfg.TLSConfig)
	for _, f := range cfg.Fallbacks {
		add(f.Host, f.Port, f.TLSConfig)
	}
	return hosts
}

// aim makes cfg, a copy, try these servers in this order.
func aim(cfg *pgx.ConnConfig, hosts ...host) {
	cfg.Fallbacks = nil
	for i, h := range hosts {
		for j, way := range h.ways {
			if i == 0 && j == 0 {
				cfg.Host, cfg.Port, cfg.TLSConfig = h.address, h.port, way
				continue
			}
			cfg.Fallbacks = append(cfg.Fallbacks, &pgconn.FallbackConfig{Host: h.address, Port: h.port, TLSConfig: way})
		}
	}
}
