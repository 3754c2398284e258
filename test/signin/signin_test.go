//go:build unix

// Package signin tests the whole way from a client that knows nothing but an
// address to a call, with the parts that people have: clients that others
// wrote, a real Chromium, and a person in it who signs in and decides.
//
// story_test.go is the way that all of them go; gosdk_test.go,
// typescript_test.go and programs_test.go say how each of them takes it, and
// inspector_test.go how a page does. opener_test.go is their desktop.
// refusals_test.go is about those who must not get through, replicas_test.go
// about two servers, openid_test.go about somebody else's sign-in page.
// world_test.go is the server, browser_test.go the person.
package signin

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// documents serves client id metadata documents. They have to come over https,
// so this process trusts its certificate, and the server in it does.
var documents *httptest.Server

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	documents = httptest.NewTLSServer(http.HandlerFunc(serveDocument))
	defer documents.Close()
	dir, err := os.MkdirTemp("", "beeos-signin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "trusted.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: documents.Certificate().Raw})
	if err := os.WriteFile(file, certificate, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("SSL_CERT_FILE", file) //nolint:errcheck // the name is fine
	defer chromium.Close()
	return m.Run()
}

const documentedName = "Documented"

// serveDocument is a client that is known by its address. It names no port for
// its redirect, as a program cannot that takes any that is free.
func serveDocument(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"client_id": %q, "client_name": %q, "redirect_uris": ["http://127.0.0.1/callback", "http://localhost/oauth/callback"],
		"grant_types": ["authorization_code", "refresh_token"], "token_endpoint_auth_method": "none"}`, documents.URL+r.URL.Path, documentedName)
}
