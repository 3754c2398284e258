package bus

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

const tlsAlert = 21 // the type of a record that says why there is no handshake

// TestMeshSpeaksTLSOnly: who knows the password and nothing of TLS learns
// nothing, and neither does who has a certificate of another mesh.
func TestMeshSpeaksTLSOnly(t *testing.T) {
	a := open(t, Options{Cluster: "127.0.0.1:0", Secret: "s"})
	address := strings.TrimPrefix(a.RouteURL(), "nats://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * handshakeWithin))
	io.WriteString(conn, `CONNECT {"user":"node","pass":"s","name":"x","cluster":"beeos"}`+"\r\nPING\r\n")
	if got, _ := io.ReadAll(conn); len(got) > 0 && got[0] != tlsAlert {
		t.Errorf("a route without TLS is answered: %q", got)
	}

	foreign, err := meshTLS("another secret", "stranger")
	if err != nil {
		t.Fatal(err)
	}
	foreign.VerifyConnection = nil
	secured, err := tls.Dial("tcp", address, foreign)
	if err != nil {
		t.Fatal(err)
	}
	defer secured.Close()
	if got, err := io.ReadAll(secured); err == nil {
		t.Errorf("a certificate of another mesh is taken: %q", got)
	}
}

// TestNodeKnowsItsMesh: a node gives its password to nobody but another node.
func TestNodeKnowsItsMesh(t *testing.T) {
	for secret, want := range map[string]bool{"s": true, "other": false} {
		mine, err := meshTLS("s", "a")
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := meshTLS(secret, "b")
		if err != nil {
			t.Fatal(err)
		}
		ln, err := tls.Listen("tcp", "127.0.0.1:0", theirs)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if conn, err := ln.Accept(); err == nil {
				conn.(*tls.Conn).Handshake()
			}
		}()
		if _, err := tls.Dial("tcp", ln.Addr().String(), mine); (err == nil) != want {
			t.Errorf("secret %q: %v", secret, err)
		}
		ln.Close()
	}
}
