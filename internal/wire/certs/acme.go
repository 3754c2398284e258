// Package certs has the certificates of the names that this server is reached
// under. ACME orders them from an authority and renews them before they end
// (acme.go); vault.go keeps them where every node finds them, and has one node
// order what all need. Files reads them from where somebody else puts them, again
// whenever they change (files.go).
package certs

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/internal/wire/outbound"
	"github.com/beeos/beeos/internal/wire/seal"
)

// Options are what certificates are ordered with.
type Options struct {
	Names     []string // the first one is also shown to who names none
	Directory string   // the authority's; empty = Let's Encrypt's
	Email     string   // where it may write to; empty = nowhere
	Store     Store
	Sealer    *seal.Sealer
	Place     func(name string) string // what something is sealed for
	Holder    string                   // what the node calls itself when it orders
	Log       *slog.Logger
	Now       func() time.Time // nil = time.Now
}

// ACME is certificates that are ordered and renewed by themselves.
type ACME struct {
	names   []string
	log     *slog.Logger
	now     func() time.Time
	vault   *vault
	manager *autocert.Manager
}

const (
	orderWithin = time.Minute // of one request to the authority
	retryFirst  = time.Minute // after an order that failed
	retryMost   = time.Hour
	lookLeast   = time.Second // at certificates that are being renewed
	lookMost    = time.Hour
)

// NewACME returns the certificates; Run must be running for them to be there
// before somebody asks.
func NewACME(opt Options) *ACME {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	opt.Log = cmp.Or(opt.Log, slog.New(slog.DiscardHandler))
	a := &ACME{names: opt.Names, log: opt.Log, now: opt.Now, vault: &vault{
		store: opt.Store, sealer: opt.Sealer, place: opt.Place, holder: opt.Holder, names: opt.Names, now: opt.Now,
	}}
	a.manager = &autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: a.vault, HostPolicy: a.checkHost, Email: opt.Email,
		Client: &acme.Client{
			DirectoryURL: cmp.Or(opt.Directory, autocert.DefaultACMEDirectory), UserAgent: "beeos",
			HTTPClient: outbound.Client(outbound.Options{Trusted: true, Timeout: orderWithin}),
		},
	}
	return a
}

// TLS is for the listener of the names: HTTP/2 and HTTP/1.1, and what the
// authority asks at this port (TLS-ALPN-01).
func (a *ACME) TLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, GetCertificate: a.getCertificate,
		NextProtos: []string{"h2", "http/1.1", acme.ALPNProto},
	}
}

// Challenges answers what the authority asks over HTTP (HTTP-01), and hands
// everything else on.
func (a *ACME) Challenges(next http.Handler) http.Handler { return a.manager.HTTPHandler(next) }

// checkHost keeps others from having us order certificates for names of theirs.
func (a *ACME) checkHost(_ context.Context, host string) error {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if !slices.Contains(a.names, strings.ToLower(host)) {
		return fmt.Errorf("%q is not a name of this server", host)
	}
	return nil
}

// getCertificate finds the certificate for a handshake. Every name has one, for
// clients that know elliptic curves: those that do not are gone.
func (a *ACME) getCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := strings.ToLower(strings.TrimSuffix(cmp.Or(hello.ServerName, a.names[0]), "."))
	if err := a.checkHost(hello.Context(), name); err != nil {
		return nil, err
	}
	return a.manager.GetCertificate(&tls.ClientHelloInfo{
		ServerName: name, SupportedProtos: hello.SupportedProtos, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
	})
}

// Run orders what is missing, and says when something was renewed or was not,
// until ctx ends.
func (a *ACME) Run(ctx context.Context) error {
	var group errgroup.Group
	for _, name := range a.names {
		group.Go(func() error {
			a.watch(ctx, name)
			return nil
		})
	}
	return group.Wait()
}

// watch looks after one certificate. The library renews it by a clock of its own
// and tells nobody when that fails.
func (a *ACME) watch(ctx context.Context, name string) {
	wait, known := retryFirst, time.Time{}
	for {
		cert, err := a.order(ctx, name)
		next := wait
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			a.vault.release(ctx, name)
			a.log.Error("no certificate; see that the name leads to this machine and that port 443 or 80 is open to the authority", "name", name, "again_in", wait.String(), "err", err)
			wait = min(2*wait, retryMost)
		default:
			wait, next = retryFirst, a.report(name, cert, known)
			known = cert.NotAfter
		}
		select {
		case <-time.After(next):
		case <-ctx.Done():
			return
		}
	}
}

// report tells the operator what has become of a certificate, and returns when to
// look again.
func (a *ACME) report(name string, cert *x509.Certificate, known time.Time) time.Duration {
	left, whole := cert.NotAfter.Sub(a.now()), cert.NotAfter.Sub(cert.NotBefore)
	switch {
	case !cert.NotAfter.Equal(known):
		a.log.Info("certificate", "name", name, "until", cert.NotAfter)
	case left < whole/6: // it should have been at a third
		a.log.Error("certificate was not renewed; see that the name leads to this machine and that port 443 or 80 is open to the authority", "name", name, "until", cert.NotAfter)
	}
	return min(max(whole/20, lookLeast), lookMost)
}

// order returns the certificate of a name, and has it ordered when there is none.
// An order under way at the end of ctx ends with the process.
func (a *ACME) order(ctx context.Context, name string) (*x509.Certificate, error) {
	type result struct {
		cert *tls.Certificate
		err  error
	}
	done := make(chan result, 1)
	go func() {
		cert, err := a.getCertificate(&tls.ClientHelloInfo{ServerName: name})
		done <- result{cert, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, r.err
		}
		return r.cert.Leaf, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
