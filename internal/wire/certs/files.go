package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// Files is a certificate in files that somebody else renews.
type Files struct {
	cert, key string
	names     []string
	log       *slog.Logger
	now       atomic.Pointer[loaded]
}

// loaded is what the files held.
type loaded struct {
	texts [2][]byte
	pair  *tls.Certificate
}

const filesLook = 2 * time.Second

// OpenFiles reads a certificate and its key, which may be one file. It must be
// good for all the names.
func OpenFiles(cert, key string, names []string, log *slog.Logger) (*Files, error) {
	f := &Files{cert: cert, key: key, names: names, log: log}
	l, err := f.load()
	if err != nil {
		return nil, fmt.Errorf("BEEOS_CERT: %w", err)
	}
	f.use(l)
	return f, nil
}

// TLS is for the listener of the names: HTTP/2 and HTTP/1.1.
func (f *Files) TLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return f.now.Load().pair, nil },
	}
}

// Run looks at the files again and again until ctx ends. What cannot be used does
// not take the place of what is: files change one after the other.
func (f *Files) Run(ctx context.Context) error {
	tick := time.NewTicker(filesLook)
	defer tick.Stop()
	failed := 0
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		l, err := f.load()
		switch {
		case err != nil:
			if failed++; failed == 2 {
				f.log.Error("the files of the certificate have changed and cannot be used; the old one stays", "err", err)
			}
		case !l.same(f.now.Load()):
			f.use(l)
			failed = 0
		default:
			failed = 0
		}
	}
}

func (f *Files) use(l *loaded) {
	f.now.Store(l)
	until := l.pair.Leaf.NotAfter
	if time.Now().After(until) {
		f.log.Error("the certificate has expired: clients refuse it until its file is replaced", "file", f.cert, "until", until)
		return
	}
	f.log.Info("certificate", "file", f.cert, "until", until)
}

// load reads the files as they are now.
func (f *Files) load() (*loaded, error) {
	var l loaded
	for i, path := range []string{f.cert, f.key} {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		l.texts[i] = text
	}
	pair, err := tls.X509KeyPair(l.texts[0], l.texts[1])
	if err != nil {
		return nil, fmt.Errorf("%s and %s are no certificate with its key: %w", f.cert, f.key, err)
	}
	for _, name := range f.names {
		if err := pair.Leaf.VerifyHostname(name); err != nil {
			return nil, fmt.Errorf("%s is not a certificate for %s: %w", f.cert, name, err)
		}
	}
	l.pair = &pair
	return &l, nil
}

func (l *loaded) same(other *loaded) bool {
	return bytes.Equal(l.texts[0], other.texts[0]) && bytes.Equal(l.texts[1], other.texts[1])
}
