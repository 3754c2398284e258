// Package smtptest runs a mail server that other people wrote, for tests: aiosmtpd, with
// STARTTLS, TLS from the start, or none, and a password.
package smtptest

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/test/python"
)

//go:embed requirements.txt
var requirements []byte

//go:embed server.py
var program string

// How a server does TLS.
const (
	StartTLS = "starttls"
	TLS      = "tls"
	Plain    = "plain"
)

// User and Password are those that it lets in, over TLS alone.
const (
	User     = "bee"
	Password = "hunter2"
)

// Mail is one that it took.
type Mail struct {
	From          string
	To            []string
	Headers       map[string]string // by their names in lower case
	Text          string
	Authenticated bool
	Encrypted     bool
}

// Server is a mail server on this machine. It knows every mailbox but nobody@, and
// later@ has no room yet.
type Server struct {
	Host string // with its port
	CAs  *x509.CertPool
	got  chan Mail
}

// Start runs a server until the test ends.
func Start(t testing.TB, how string) *Server {
	t.Helper()
	interpreter, err := python.Install(t.Context(), requirements)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script, cert, key := filepath.Join(dir, "server.py"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	s := &Server{CAs: x509.NewCertPool(), got: make(chan Mail, 100)}
	s.writeCertificate(t, cert, key)
	if err := os.WriteFile(script, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), interpreter, script, how, cert, key)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended
		cmd.Wait()         //nolint:errcheck // it was killed
	})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		t.Fatal("the mail server did not start")
	}
	s.Host = net.JoinHostPort("localhost", strings.TrimSpace(lines.Text()))
	go func() {
		for lines.Scan() {
			var m Mail
			if json.Unmarshal(lines.Bytes(), &m) == nil {
				s.got <- m
			}
		}
	}()
	return s
}

// Next is the next mail that comes.
func (s *Server) Next(t testing.TB) Mail {
	t.Helper()
	select {
	case m := <-s.got:
		return m
	case <-time.After(20 * time.Second):
		t.Fatal("no mail came")
		return Mail{}
	}
}

// Quiet fails when another mail has come.
func (s *Server) Quiet(t testing.TB) {
	t.Helper()
	select {
	case m := <-s.got:
		t.Errorf("it was also sent %+v", m)
	default:
	}
}

// writeCertificate makes a certificate of localhost that only this test believes.
func (s *Server) writeCertificate(t testing.TB, cert, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	s.CAs.AddCert(made)
}
