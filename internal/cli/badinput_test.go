package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

// hello is what every good call says; bad ones put something else there.
const hello = `"message":"hello"`

// edge is one way to call an agent from outside.
type edge struct {
	name  string
	host  string
	path  string // %s is the agent
	call  string // a good call
	depth int    // of the object that holds the message
	error func(body []byte) (number int, code, message string)
}

func (r *rig) edges() []edge {
	return []edge{
		{"mcp", r.MCP, "/%s/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + r.agent + `","arguments":{` + hello + `}}}`, 3, rpcError},
		{"rest", r.REST, "/api/v1/agents/%s/invoke", `{` + hello + `}`, 1, restError},
	}
}

// badInput is one request that must be refused. What is empty is as in a good
// call.
type badInput struct {
	name    string
	body    func(e edge) string // nil = the good call
	chunked bool
	agent   string
	headers []string // instead of the owner's key and the content type
	status  int
	code    string
	onMCP   string // the code there, where it is another one
}

// families and numbers are the contract's: the type that stands beside a code
// in REST bodies, and its JSON-RPC number. Codes without a number of their own
// have the HTTP status.
var (
	families = map[string]string{
		"invalid_json": "invalid_request_error", "invalid_body": "invalid_request_error", "payload_too_large": "invalid_request_error",
		"invalid_param": "validation_error", "missing_param": "validation_error",
		"missing_token": "authentication_error", "unauthorized": "authentication_error", "invalid_token": "authentication_error",
		"agent_not_found": "not_found_error",
	}
	numbers = map[string]int{"invalid_json": -32700, "invalid_body": -32600, "invalid_param": -32602, "missing_param": -32602}
)

func TestBadInput(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	good := 0
	for _, e := range r.edges() {
		for _, g := range goodInputs() {
			t.Run(e.name+"/"+g.name, func(t *testing.T) {
				good++
				resp, body := r.send(t, e, g)
				if resp.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(" bytes")) {
					t.Errorf("%s %.300s", resp.Status, body)
				}
			})
		}
		for _, b := range badInputs(r) {
			t.Run(e.name+"/"+b.name, func(t *testing.T) { r.refused(t, e, b) })
		}
		for _, b := range badHTTP {
			t.Run(e.name+"/"+b.name, func(t *testing.T) { r.refusedRaw(t, e, b) })
		}
	}
	t.Run("rest/setting too large", r.settingTooLarge)
	if n := r.reached.Load(); n != int64(good) {
		t.Errorf("%d messages reached the agent; %d were good", n, good)
	}
	if n := r.stored(); n != 2*good {
		t.Errorf("%d messages are stored; %d calls were good", n, good)
	}
	r.stop()
	r.inspectLog()
}

// goodInputs are as near to the bad ones as can be.
func goodInputs() []badInput {
	return []badInput{
		{name: "plain"},
		{name: "exactly 1 MiB", body: ofSize(1 << 20)},
		{name: "exactly 1 MiB, chunked", body: ofSize(1 << 20), chunked: true},
		{name: "100 deep", body: nested(100)},
	}
}

func badInputs(r *rig) []badInput {
	unknown := r.secret("oag_" + strings.Repeat("5a", 32))
	other := r.newKey(beeos.Key{Kind: beeos.AgentKey, OwnerID: r.owner, AgentID: r.connect("other-" + beeos.NewID())})
	expired, revoked, stranger := r.expiredKey(), r.revokedKey(), r.stranger()
	bearer := func(key string) string { return "Authorization: Bearer " + key }
	mine, agentKey := bearer(r.key), "X-Agent-API-Key: "+other
	list := []badInput{
		{name: "empty body", body: func(edge) string { return "" }, status: 400, code: "invalid_json"},
		{name: "no JSON", body: func(edge) string { return "hello" }, status: 400, code: "invalid_json"},
		{name: "cut off", body: func(e edge) string { return e.call[:len(e.call)-1] }, status: 400, code: "invalid_json"},
		{name: "two values", body: func(e edge) string { return e.call + e.call }, status: 400, code: "invalid_json"},
		{name: "byte order mark", body: func(e edge) string { return "\ufeff" + e.call }, status: 400, code: "invalid_json"},
		{name: "a list", body: func(e edge) string { return "[" + e.call + "]" }, status: 400, code: "invalid_body"},
		{name: "a string", body: func(edge) string { return `"hello"` }, status: 400, code: "invalid_body"},
		{name: "message of another type", body: saying(`"message":{"text":"hello"}`), status: 400, code: "invalid_body", onMCP: "invalid_param"},
		{name: "message empty", body: saying(`"message":" "`), status: 400, code: "invalid_param"},
		{name: "message absent", body: saying(`"text":"hello"`), status: 400, code: "missing_param", onMCP: "invalid_param"},
		{name: "other case", body: saying(`"Message":"hello"`), status: 400, code: "missing_param", onMCP: "invalid_param"},

		{name: "a byte over 1 MiB", body: ofSize(1<<20 + 1), status: 413, code: "payload_too_large"},
		{name: "a byte over 1 MiB, chunked", body: ofSize(1<<20 + 1), chunked: true, status: 413, code: "payload_too_large"},
		{name: "101 deep", body: nested(101), status: 400, code: "invalid_json"},

		{name: "no content type", headers: []string{mine}, status: 415, code: "invalid_body"},
		{name: "a form", headers: []string{mine, "Content-Type: application/x-www-form-urlencoded"}, status: 415, code: "invalid_body"},
		{name: "text", headers: []string{mine, "Content-Type: text/plain"}, status: 415, code: "invalid_body"},
		{name: "compressed", headers: []string{mine, "Content-Type: application/json", "Content-Encoding: gzip"}, status: 415, code: "invalid_body"},

		{name: "unknown agent", agent: "agent_0000000000000000", status: 404, code: "agent_not_found"},
		{name: "somebody else's agent", headers: []string{bearer(stranger), jsonType}, status: 404, code: "agent_not_found"},
		{name: "another agent's key", headers: []string{agentKey, jsonType}, status: 404, code: "agent_not_found", onMCP: "unauthorized"},

		{name: "no key", headers: []string{jsonType}, status: 401, code: "missing_token"},
		{name: "unknown key", headers: []string{bearer(unknown), jsonType}, status: 401, code: "invalid_token"},
		{name: "a key cut off", headers: []string{bearer(r.secret(r.key[:40])), jsonType}, status: 401, code: "invalid_token"},
		{name: "a revoked key", headers: []string{bearer(revoked), jsonType}, status: 401, code: "invalid_token"},
		{name: "an expired key", headers: []string{bearer(expired), jsonType}, status: 401, code: "invalid_token"},
		{name: "a user's key as an agent's", headers: []string{"X-Agent-API-Key: " + r.key, jsonType}, status: 401, code: "invalid_token"},
		{name: "not Bearer", headers: []string{"Authorization: Basic " + r.key, jsonType}, status: 401, code: "unauthorized"},
		{name: "two credentials", headers: []string{mine, agentKey, jsonType}, status: 401, code: "unauthorized"},
		{name: "two bearers", headers: []string{mine, bearer(stranger), jsonType}, status: 401, code: "unauthorized"},
		{name: "a bad key and a bad body", body: func(edge) string { return "hello" }, headers: []string{bearer(unknown)}, status: 401, code: "invalid_token"},
	}
	for name, said := range map[string]string{
		"duplicate name":           `"message":"hello","message":"again"`,
		"duplicate name, equal":    `"message":"hello","message":"hello"`,
		"duplicate, other case":    `"message":"hello","MESSAGE":"again"`,
		"duplicate, escaped":       `"message":"hello","mess\u0061ge":"again"`,
		"duplicate, long s":        `"message":"hello","me` + "\u017f\u017f" + `age":"again"`,
		"duplicate, deeper":        `"message":"hello","x":[{"a":1,"A":2}]`,
		"half a surrogate":         `"message":"\ud800"`,
		"NUL":                      `"message":"a\u0000b"`,
		"control character":        "\"message\":\"a\nb\"",
		"invalid UTF-8":            "\"message\":\"\xff\"",
		"comma at the end":         `"message":"hello",`,
		"single quotes":            `'message':'hello'`,
		"a comment":                `"message":"hello"/* no */`,
		"a number of another sort": `"message":"hello","x":01`,
	} {
		list = append(list, badInput{name: name, body: saying(said), status: 400, code: "invalid_json"})
	}
	return list
}

const jsonType = "Content-Type: application/json"

// saying is the good call with other members in place of its message.
func saying(members string) func(edge) string {
	return func(e edge) string { return strings.Replace(e.call, hello, members, 1) }
}

// ofSize is the good call with a message that brings the body to n bytes.
func ofSize(n int) func(edge) string {
	return func(e edge) string {
		return strings.Replace(e.call, "hello", strings.Repeat("x", n-len(e.call)+len("hello")), 1)
	}
}

// nested is the good call with a member beside the message that brings the
// body to this depth.
func nested(depth int) func(edge) string {
	return func(e edge) string {
		n := depth - e.depth
		return saying(hello + `,"x":` + strings.Repeat("[", n) + strings.Repeat("]", n))(e)
	}
}

func (r *rig) send(t *testing.T, e edge, b badInput) (*http.Response, []byte) {
	t.Helper()
	text, agent, headers := e.call, r.agent, []string{"Authorization: Bearer " + r.key, jsonType}
	if b.body != nil {
		text = b.body(e)
	}
	if b.agent != "" {
		agent = b.agent
	}
	if b.headers != nil {
		headers = b.headers
	}
	var body io.Reader = strings.NewReader(text)
	if b.chunked {
		body = struct{ io.Reader }{body} // of a length that nobody knows
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.host+fmt.Sprintf(e.path, agent), body)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	return r.do(req)
}

// refused sends b and wants the contract's answer to it.
func (r *rig) refused(t *testing.T, e edge, b badInput) {
	status, code := b.status, b.code
	if e.name == "mcp" && b.onMCP != "" {
		code = b.onMCP
		if code == "unauthorized" {
			status = http.StatusUnauthorized
		}
	}
	resp, body := r.send(t, e, b)
	if resp.StatusCode != status || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s, %s; want %d", resp.Status, resp.Header.Get("Content-Type"), status)
	}
	number, ok := numbers[code]
	if !ok {
		number = status
	}
	gotNumber, gotCode, message := e.error(body)
	if gotCode != code || message == "" || gotNumber != number && e.name == "mcp" {
		t.Errorf("answered %s; want %s", body, code)
	}
	if challenge := resp.Header.Get("WWW-Authenticate"); (challenge != "") != (status == http.StatusUnauthorized) {
		t.Errorf("%d with WWW-Authenticate %q", status, challenge)
	}
	r.leaks(t, "the answer", string(body))
}

// exactly decodes body, which must have these members and no others.
func exactly(body []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

func rpcError(body []byte) (number int, code, message string) {
	var a struct {
		JSONRPC string
		ID      *int
		Error   struct {
			Code    int
			Message string
			Data    struct{ Code string }
		}
	}
	if err := exactly(body, &a); err != nil || a.JSONRPC != "2.0" {
		return 0, fmt.Sprint("no JSON-RPC error: ", err), ""
	}
	return a.Error.Code, a.Error.Data.Code, a.Error.Message
}

func restError(body []byte) (_ int, code, message string) {
	var a struct {
		Success bool
		Error   struct {
			Type, Code, Message string
			Details             map[string]any
		}
	}
	err := exactly(body, &a)
	if err != nil || a.Success || a.Error.Details == nil || a.Error.Type != families[a.Error.Code] {
		return 0, fmt.Sprint("no REST error: ", err), ""
	}
	return 0, a.Error.Code, a.Error.Message
}

// settingTooLarge: what is not a message may have 64 KiB.
func (r *rig) settingTooLarge(t *testing.T) {
	for _, x := range []struct{ size, status int }{{64 << 10, http.StatusOK}, {64<<10 + 1, http.StatusRequestEntityTooLarge}} {
		body := `{"visibility":"private"}`
		body += strings.Repeat(" ", x.size-len(body))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, r.REST+"/api/v1/agents/"+r.agent, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+r.key)
		req.Header.Set("Content-Type", "application/json")
		if resp, answer := r.do(req); resp.StatusCode != x.status {
			t.Errorf("%d bytes: %s %s", x.size, resp.Status, answer)
		}
	}
}

// rawInput is a request as bytes.
type rawInput struct {
	name, request string
	status        int
}

// badHTTP are requests that no HTTP library sends. In each, PATH, HOST, KEY
// and BODY stand for those of a good call and SIZE for the length of its body.
var badHTTP = []rawInput{
	{"no HTTP", "hello\r\n\r\n", 400},
	{"no host", "POST PATH HTTP/1.1\r\nKEY\r\nContent-Length: SIZE\r\n\r\nBODY", 400},
	{"foreign host", "POST PATH HTTP/1.1\r\nHost: evil.example\r\nKEY\r\nContent-Length: SIZE\r\n\r\nBODY", 403},
	{"foreign origin", "POST PATH HTTP/1.1\r\nHost: HOST\r\nOrigin: https://evil.example\r\nKEY\r\nContent-Length: SIZE\r\n\r\nBODY", 403},
	{"two lengths", "POST PATH HTTP/1.1\r\nHost: HOST\r\nKEY\r\nContent-Length: SIZE\r\nContent-Length: 1\r\n\r\nBODY", 400},
	{"negative length", "POST PATH HTTP/1.1\r\nHost: HOST\r\nKEY\r\nContent-Length: -1\r\n\r\nBODY", 400},
	{"length too short", "POST PATH HTTP/1.1\r\nHost: HOST\r\nKEY\r\nContent-Length: 5\r\n\r\nBODY", 400},
	{"length too long", "POST PATH HTTP/1.1\r\nHost: HOST\r\nKEY\r\nContent-Length: 4000\r\n\r\nBODY", 400},
	{"announces 1 GiB", "POST PATH HTTP/1.1\r\nHost: HOST\r\nKEY\r\nContent-Length: 1073741824\r\n\r\n", 413},
	{"unknown transfer encoding", "POST PATH HTTP/1.1\r\nHost: HOST\r\nKEY\r\nTransfer-Encoding: gzip\r\n\r\nBODY", 501},
	{"broken chunks", "POST PATH HTTP/1.1\r\nHost: HOST\r\nKEY\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nBODY\r\n0\r\n\r\n", 400},
	{"endless header", "POST PATH HTTP/1.1\r\nHost: HOST\r\nKEY\r\nX-Long: LONG\r\nContent-Length: SIZE\r\n\r\nBODY", 431},
	{"name with a space", "POST PATH HTTP/1.1\r\nHost: HOST\r\nX Y: 1\r\nKEY\r\nContent-Length: SIZE\r\n\r\nBODY", 400},
	{"NUL in a header", "POST PATH HTTP/1.1\r\nHost: HOST\r\nX-Y: a\x00b\r\nKEY\r\nContent-Length: SIZE\r\n\r\nBODY", 400},
}

// refusedRaw writes a request to the socket and half-closes it; the answer
// must come and say what was wrong.
func (r *rig) refusedRaw(t *testing.T, e edge, b rawInput) {
	host := strings.TrimPrefix(e.host, "http://")
	request := strings.NewReplacer(
		"PATH", fmt.Sprintf(e.path, r.agent), "HOST", host, "KEY", "Authorization: Bearer "+r.key+"\r\n"+jsonType,
		"SIZE", fmt.Sprint(len(e.call)), "BODY", e.call, "LONG", strings.Repeat("x", 2<<20),
	).Replace(b.request)
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, request)    //nolint:errcheck // the server may close before it has all of it
	conn.(*net.TCPConn).CloseWrite() //nolint:errcheck // as above
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body) //nolint:errcheck // what has come is looked at
	if resp.StatusCode != b.status {
		t.Errorf("%s %s; want %d", resp.Status, body, b.status)
	}
	r.leaks(t, "the answer", string(body))
}
