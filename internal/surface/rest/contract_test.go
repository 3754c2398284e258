package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/beeos/beeos/api"
)

// contract is api/openapi.yaml, and which of its operations were tried.
type contract struct {
	doc    *openapi3.T
	router routers.Router

	mu    sync.Mutex
	tried map[string]map[int]bool // operationId -> statuses
}

var theContract = sync.OnceValue(func() *contract {
	doc, err := openapi3.NewLoader().LoadFromData(api.YAML)
	if err != nil {
		panic(err)
	}
	doc.Servers = nil // wherever the test server is
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		panic(err)
	}
	return &contract{doc: doc, router: router, tried: map[string]map[int]bool{}}
})

// TestMain fails when an operation of the contract was not tried by any test.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.list").Value.String() == "" {
		for _, gap := range theContract().gaps() {
			fmt.Println("FAIL: " + gap)
			code = 1
		}
	}
	os.Exit(code)
}

// operations walks the document: operationId -> method and path.
func (c *contract) operations(f func(id, method, path string, op *openapi3.Operation)) {
	for path, item := range c.doc.Paths.Map() {
		for method, op := range item.Operations() {
			f(op.OperationID, method, path, op)
		}
	}
}

func (c *contract) gaps() (gaps []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.operations(func(id, method, path string, _ *openapi3.Operation) {
		served := false
		for status := range c.tried[id] {
			served = served || status < 300
		}
		switch {
		case len(c.tried[id]) == 0:
			gaps = append(gaps, fmt.Sprintf("no test tries %s (%s %s)", id, method, path))
		case !served:
			gaps = append(gaps, fmt.Sprintf("no test of %s (%s %s) succeeds", id, method, path))
		}
	})
	slices.Sort(gaps)
	return gaps
}

// watch holds every exchange with next against the contract.
func (c *contract) watch(t *testing.T, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/files/") { // the links' own business
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if len(body) == 0 {
			r.Body = http.NoBody
		}
		tap := &tap{ResponseWriter: w}
		next.ServeHTTP(tap, r)
		if err := c.check(r, body, tap); err != nil {
			t.Errorf("%s %s answered %d: %v\nrequest: %.500s\nanswer: %.500s", r.Method, r.URL, tap.status, err, body, tap.body.String())
		}
	})
}

// tap keeps what is written.
type tap struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (t *tap) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (t *tap) WriteHeader(status int) {
	t.status = status
	t.ResponseWriter.WriteHeader(status)
}

func (t *tap) Write(b []byte) (int, error) {
	t.body.Write(b)
	return t.ResponseWriter.Write(b)
}

func (c *contract) check(r *http.Request, body []byte, w *tap) error {
	route, params, err := c.router.FindRoute(r)
	if err != nil {
		if w.status == http.StatusNotFound || w.status == http.StatusMethodNotAllowed || strings.HasPrefix(r.URL.Path, "/docs") || r.URL.Path == "/openapi.json" {
			return nil // there is no such route, and the server says so
		}
		return fmt.Errorf("the contract has no such operation: %w", err)
	}
	c.note(route.Operation.OperationID, w.status)
	sent := r.Clone(context.Background())
	sent.Body = io.NopCloser(bytes.NewReader(body))
	options := &openapi3filter.Options{IncludeResponseStatus: true, AuthenticationFunc: credential, SkipSettingDefaults: true}
	in := &openapi3filter.RequestValidationInput{Request: sent, PathParams: params, Route: route, Options: options}
	if w.status < 300 { // what is accepted must be acceptable
		if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil {
			return fmt.Errorf("the request: %w", err)
		}
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: w.status, Header: w.Header(), Options: options}
	if w.Header().Get("Content-Type") == "text/event-stream" { // a string to the document
		if err := c.checkStream(w.body.String()); err != nil {
			return err
		}
		options.ExcludeResponseBody = true
	} else {
		out.SetBodyBytes(w.body.Bytes())
	}
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		return fmt.Errorf("the answer: %w", err)
	}
	// A constant would say so in the document, but generators of clients make
	// nothing that works of a constant boolean.
	var envelope struct{ Success *bool }
	if json.Unmarshal(w.body.Bytes(), &envelope) == nil && envelope.Success != nil && *envelope.Success != (w.status < 300) {
		return fmt.Errorf("success is %v", *envelope.Success)
	}
	return nil
}

// credential says whether a request brings the kind of credential that the
// contract names; whether it is any good is the server's to say.
func credential(_ context.Context, in *openapi3filter.AuthenticationInput) error {
	h := in.RequestValidationInput.Request.Header
	switch {
	case in.SecuritySchemeName == "bearer" && strings.HasPrefix(h.Get("Authorization"), "Bearer "):
		return nil
	case in.SecuritySchemeName == "agentKey" && h.Get("X-Agent-API-Key") != "":
		return nil
	}
	return errors.New("the request has no " + in.SecuritySchemeName + " credential")
}

func (c *contract) note(id string, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tried[id] == nil {
		c.tried[id] = map[int]bool{}
	}
	c.tried[id][status] = true
}

// checkStream looks at the events that a stream has sent in full.
func (c *contract) checkStream(text string) error {
	whole, _, _ := strings.Cut(text+"\x00", "\x00")
	blocks := strings.Split(whole, "\n\n")
	for _, block := range blocks[:len(blocks)-1] {
		name, data := "", ""
		for line := range strings.SplitSeq(block, "\n") {
			if v, ok := strings.CutPrefix(line, "event: "); ok {
				name = v
			}
			if v, ok := strings.CutPrefix(line, "data: "); ok {
				data = v
			}
		}
		if data == "" {
			continue
		}
		var v any
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			return fmt.Errorf("event %q: %w", block, err)
		}
		switch name {
		case "message":
			if err := c.doc.Components.Schemas["MessageDTO"].Value.VisitJSON(v, openapi3.EnableJSONSchema2020()); err != nil {
				return fmt.Errorf("event %q: %w", block, err)
			}
		case "end":
			reason, _ := v.(map[string]any)["reason"].(string)
			if !slices.Contains([]string{"task_terminal", "channel_closed", "stream_closed"}, reason) {
				return fmt.Errorf("the stream ends for the reason %q", reason)
			}
		case "":
			kind, _ := v.(map[string]any)["type"].(string)
			if !slices.Contains([]string{"reasoning", "delta", "approval.requested", "approval.decided", "error", "done"}, kind) {
				return fmt.Errorf("an invoke stream says %q", kind)
			}
		default:
			return fmt.Errorf("an event is called %q", name)
		}
	}
	return nil
}

// TestContractCheckCatchesMistakes: the check would notice.
func TestContractCheckCatchesMistakes(t *testing.T) {
	c := &contract{doc: theContract().doc, router: theContract().router, tried: map[string]map[int]bool{}}
	for _, bad := range []struct{ method, path, body, kind, answer string }{
		{"GET", "/api/v1/unheard", "", "application/json", `{"success":true}`},
		{"GET", "/api/v1/tasks", "", "application/json", `{"success":true,"data":{"tasks":[{"task_id":"x","agent_id":"y","state":"done"}]}}`},
		{"GET", "/api/v1/tasks", "", "application/json", `{"success":true,"data":{}}`},
		{"GET", "/api/v1/tasks", "", "text/html", `<p>`},
		{"GET", "/api/v1/tasks", "", "application/json", `{"success":false,"data":{"tasks":[]}}`},
		{"GET", "/api/v1/tasks?limit=0", "", "application/json", `{"success":true,"data":{"tasks":[]}}`},
		{"POST", "/api/v1/join-tokens", `{"ttl":1}`, "application/json", `{"success":true,"data":{"token":"x","expires_at":"2030-01-01T00:00:00Z"}}`},
		{"GET", "/channels/x/events", "", "text/event-stream", "event: message\ndata: {}\n\n"},
		{"GET", "/channels/x/events", "", "text/event-stream", "event: end\ndata: {\"reason\":\"bored\"}\n\n"},
	} {
		r := httptest.NewRequest(bad.method, bad.path, nil)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer x")
		w := &tap{ResponseWriter: httptest.NewRecorder(), status: 200}
		if bad.method == "POST" {
			w.status = 201
		}
		w.Header().Set("Content-Type", bad.kind)
		w.body.WriteString(bad.answer)
		if err := c.check(r, []byte(bad.body), w); err == nil {
			t.Errorf("%s %s %s with %s is let through", bad.method, bad.path, bad.body, bad.answer)
		}
	}
}

// TestDocumentIsServed: the contract is served, to programs and to people.
func TestDocumentIsServed(t *testing.T) {
	s := start(t)
	resp := s.send("GET", "/openapi.json", "", "")
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.Equal(raw, api.JSON) || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("openapi.json: %v, %s, %d bytes", err, resp.Header.Get("Content-Type"), len(raw))
	}
	page := s.send("GET", "/docs", "", "")
	defer page.Body.Close()
	if csp := page.Header.Get("Content-Security-Policy"); page.StatusCode != 200 || !strings.Contains(csp, "default-src 'none'") {
		t.Errorf("docs: %d with policy %q", page.StatusCode, csp)
	}
	// Who opens the address that `beeos dev` prints is shown the way there.
	if a := s.do("GET", "/api/v1", "", ""); a.status != 404 || !strings.Contains(a.text, "/docs") {
		t.Errorf("the way to the document: %d %s", a.status, a.text)
	}
}
