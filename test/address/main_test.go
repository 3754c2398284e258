//go:build unix

// Package address reaches a whole server through one address, as clients do that
// others wrote: tour_test.go is all that has to work there, files_test.go tries it
// with certificates from files, dev_test.go in beeos dev, nginx_test.go behind the
// real nginx with the file of deploy/proxy. With the build tag address, acme_test.go
// tries certificates from a real authority, pebble, and caddy_test.go the real
// Caddy; programs/go.mod has both.
//
// Names lead to the servers of the tests by names_test.go, and certificates are good
// by a file of roots.
package address

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// moreRoots starts what has roots of its own, and returns these.
var moreRoots = func(dir string) (roots []byte, stop func(), err error) { return nil, func() {}, nil }

var ours *authority

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run sets what all clients of this process use: the way to names, and the roots.
func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "beeos-address-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if ours, err = newAuthority(); err != nil {
		return 1, err
	}
	http.DefaultTransport.(*http.Transport).DialContext = dial
	roots, stop, err := moreRoots(dir)
	if err != nil {
		return 1, err
	}
	defer stop()
	file := filepath.Join(dir, "roots.pem")
	if err := os.WriteFile(file, append(ours.root(), roots...), 0o600); err != nil {
		return 1, err
	}
	os.Setenv("SSL_CERT_FILE", file)
	return m.Run(), nil
}

// authority signs the certificates of these tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "address tests"}, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &authority{cert, key}, err
}

func (a *authority) root() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// issue returns a certificate and its key.
func (a *authority) issue(t *testing.T, serial int64, names ...string) (cert, key []byte) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(serial), DNSNames: names, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
	}, a.cert, own.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// issueFiles writes a certificate and its key where a server is told that they are.
func (a *authority) issueFiles(t *testing.T, dir string, serial int64, names ...string) (cert, key string) {
	t.Helper()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	c, k := a.issue(t, serial, names...)
	for path, text := range map[string][]byte{cert: bytes.Join([][]byte{c, a.root()}, nil), key: k} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}
