//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos/test/person"
	"github.com/beeos/beeos/test/ports"
)

// authorization runs the suite's command for authorization servers, which
// wants a person at a browser; somebody is one here.
func (s *suite) authorization(ctx context.Context, issuer string, somebody *person.Person) (selection, error) {
	number, free, err := ports.Reserve()
	if err != nil {
		return selection{}, err
	}
	defer free()
	port := strconv.Itoa(number)
	client, err := register(ctx, issuer, "http://127.0.0.1:"+port+"/callback")
	if err != nil {
		return selection{}, err
	}
	return s.collect(ctx, "authorization", func(ctx context.Context, dir string) ([]byte, error) {
		program := s.tools.Module("@modelcontextprotocol/conformance/dist/index.js")
		cmd := s.tools.Node(ctx, program, "authorization", "--url", issuer, "--client-id", client, "--resource", s.url, "-p", port, "--output-dir", dir)
		return attended(ctx, cmd, issuer, somebody)
	})
}

// attended runs a command that prints an address for somebody to open.
func attended(ctx context.Context, cmd *exec.Cmd, issuer string, somebody *person.Person) ([]byte, error) {
	var out, complaints bytes.Buffer
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = &complaints
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var stuck error
	lines := bufio.NewScanner(io.TeeReader(pipe, &out))
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); strings.HasPrefix(line, issuer+"/oauth/authorize?") {
			if _, stuck = somebody.Consent(ctx, line); stuck != nil {
				_ = cmd.Process.Kill() // it would wait for minutes
			}
		}
	}
	err = cmd.Wait()
	if stuck != nil {
		err = fmt.Errorf("the person could not consent: %w", stuck)
	}
	return append(out.Bytes(), complaints.Bytes()...), err
}

// register makes a client of the authorization server.
func register(ctx context.Context, issuer, redirect string) (id string, err error) {
	var answer struct {
		ID string `json:"client_id"`
	}
	body := `{"client_name":"Conformance","application_type":"native","token_endpoint_auth_method":"none","redirect_uris":["` + redirect + `"]}`
	err = ask(ctx, issuer+"/oauth/register", "application/json", body, http.StatusCreated, &answer)
	return answer.ID, err
}

// token is an access token for a resource, got as any client gets one.
func token(ctx context.Context, issuer, resource string, somebody *person.Person) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	door := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), ReadHeaderTimeout: time.Second}
	go door.Serve(listener) //nolint:errcheck // ends with Close
	defer door.Close()
	redirect := "http://" + listener.Addr().String() + "/callback"
	client, err := register(ctx, issuer, redirect)
	if err != nil {
		return "", err
	}
	verifier := rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(verifier))
	at, err := somebody.Consent(ctx, issuer+"/oauth/authorize?"+url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {redirect}, "resource": {resource},
		"code_challenge_method": {"S256"}, "code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])},
	}.Encode())
	if err != nil {
		return "", err
	}
	var answer struct {
		Access string `json:"access_token"`
	}
	err = ask(ctx, issuer+"/oauth/token", "application/x-www-form-urlencoded", url.Values{
		"grant_type": {"authorization_code"}, "code": {at.Query().Get("code")}, "code_verifier": {verifier}, "client_id": {client}, "redirect_uri": {redirect}, "resource": {resource},
	}.Encode(), http.StatusOK, &answer)
	return answer.Access, err
}

func ask(ctx context.Context, address, kind, body string, status int, answer any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", kind)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != status {
		return fmt.Errorf("POST %s: %s %s", address, resp.Status, text)
	}
	return json.Unmarshal(text, answer)
}
