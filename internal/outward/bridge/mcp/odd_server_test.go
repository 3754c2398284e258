package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/beeos/beeos/agent"
	bridge "github.com/beeos/beeos/internal/outward/bridge/mcp"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
)

// oddServer is an MCP server of an older revision that answers with whatever
// its tools are called after.
func oddServer(t *testing.T) *httptest.Server {
	var sessions atomic.Int64
	answers := map[string]string{
		"untyped":  `"result":{"content":[{"text":"?"}]}`,
		"nonsense": `"result":"yes"`,
		"future":   `"result":{"content":[{"type":"hologram","beams":9007199254740993}],"mood":"<fine>"}`,
		"bare":     `"result":{"content":[],"structuredContent":{"n":1}}`,
		"fault":    `"error":{"code":-32602,"message":"no such thing","data":{"hint":"look"}}`,
		"url":      `"error":{"code":-32042,"message":"open a page","data":{"elicitations":[]}}`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		_ = json.Unmarshal(body, &m)
		reply := func(rest string) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, rest)
		}
		current := fmt.Sprint("session-", sessions.Load())
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("session-", sessions.Add(1)))
			reply(`"result":{"protocolVersion":"2025-03-26","serverInfo":{"name":"odd","version":"1"},"capabilities":{"tools":{}}}`)
		case r.Header.Get("Mcp-Session-Id") != current:
			w.WriteHeader(http.StatusNotFound)
		case m.Method == "tools/list":
			var tools []string
			for name := range answers {
				tools = append(tools, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
			}
			reply(`"result":{"tools":[{"name":"bad name","inputSchema":{"type":"object"}},{"name":"bad-schema","inputSchema":{"type":"string"}},{"name":"html","inputSchema":{"type":"object"}},{"name":"forget","inputSchema":{"type":"object"}},{"name":"echo-secret","inputSchema":{"type":"object"}},` + strings.Join(tools, ",") + `]}`)
		case m.Method != "tools/call":
			w.WriteHeader(http.StatusAccepted)
		case m.Params.Name == "html":
			fmt.Fprint(w, "<html>busy</html>")
		case m.Params.Name == "forget":
			sessions.Add(1)
			w.WriteHeader(http.StatusNotFound)
		case m.Params.Name == "echo-secret":
			http.Error(w, "I do not know "+r.Header.Get("X-Key"), http.StatusForbidden)
		default:
			reply(answers[m.Params.Name])
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestOddAnswers(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	server := oddServer(t)
	var log bridgetest.Journal
	id := bridgetest.Connect(t, app, &log, "odd", func(ctx context.Context, o agent.Options) error {
		return (&bridge.Options{Server: bridgetest.Command(server.URL)}).Run(ctx, settings.Bridge{Header: http.Header{"X-Key": {bridgetest.Secret}}, Agent: o})
	})
	// By hand: a client's types would hide what is passed on.
	callTool := func(name string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "POST", app.MCP+"/"+id+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":{}}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+app.UserKey)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	for _, test := range []struct{ tool, want string }{
		{"untyped", `content that has no type"}],"isError":true`},
		{"nonsense", `something that is no result"}],"isError":true`},
		{"future", `"content":[{"type":"hologram","beams":9007199254740993}],"mood":"<fine>"`},
		{"bare", `"content":[],"structuredContent":{"n":1}`},
		{"fault", `"code":-32602,"message":"no such thing"`},
		{"fault", `"hint":"look"`},
		{"url", `"code":-32042,"message":"open a page"`},
		{"html", `the server's answer belongs to something else"}],"isError":true`},
		{"echo-secret", `answered 403 Forbidden: I do not know [hidden]"}],"isError":true`},
		{"forget", `"isError":true`},
		{"bare", `"structuredContent":{"n":1}`}, // in another session
		{"bad name", `Tool not found`},
		{"bad-schema", `Tool not found`},
	} {
		if got := callTool(test.tool); !strings.Contains(got, test.want) {
			t.Errorf("%s: %s\nwant %s", test.tool, got, test.want)
		}
	}
}

// TestUnreachableServer: a server that is not there yet is waited for, and callers
// do not get to know where it is.
func TestUnreachableServer(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	server := oddServer(t)
	var log bridgetest.Journal
	id := bridgetest.Connect(t, app, &log, "odd", func(ctx context.Context, o agent.Options) error {
		return (&bridge.Options{Server: bridgetest.Command(server.URL)}).Run(ctx, settings.Bridge{Agent: o})
	})
	server.Close()
	c := call(t, app, id, "")
	text, failed := c.tool(t, "bare", nil)
	if want := "the server behind this agent cannot be reached: "; !failed || !strings.HasPrefix(text, want) || strings.Contains(text, "127.0.0.1") {
		t.Errorf("%q", text)
	}
	// A program that ends when it is asked how new it is, as some do.
	shy := bridgetest.Connect(t, app, &bridgetest.Journal{}, "shy", func(ctx context.Context, o agent.Options) error {
		return (&bridge.Options{Server: bridgetest.Command("sh", "-c", shyServer)}).Run(ctx, settings.Bridge{Agent: o})
	})
	if text, failed := call(t, app, shy, "").tool(t, "hello", nil); text != "hi" || failed {
		t.Errorf("%q", text)
	}
}

const shyServer = `while read -r line; do
	id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	case $line in
	*server/discover*) exit 1 ;;
	*'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2024-11-05","serverInfo":{"name":"shy","version":"1"},"capabilities":{"tools":{}}}}' ;;
	*tools/list*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"hello","inputSchema":{"type":"object"}}]}}' ;;
	*tools/call*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"hi"}]}}' ;;
	esac
done`
