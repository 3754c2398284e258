package bridge_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge/a2a"
	"github.com/beeos/beeos/internal/outward/bridge/httpbridge"
	mcpbridge "github.com/beeos/beeos/internal/outward/bridge/mcp"
	"github.com/beeos/beeos/internal/outward/bridge/openai"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
)

const callerPlace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// heard is what a server behind a bridge was told of traces, in headers and body.
type heard struct{ header, state, body string }

// TestBridgesPassTracesOn: what stands behind a bridge is told which trace the
// call is part of.
func TestBridgesPassTracesOn(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	told := make(chan heard, 64)
	listen := func(answer http.Handler) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			if r.Header.Get("Traceparent") != "" {
				told <- heard{r.Header.Get("Traceparent"), r.Header.Get("Tracestate"), string(body)}
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			answer.ServeHTTP(w, r)
		}))
		t.Cleanup(s.Close)
		return s
	}
	plain := listen(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"reply":"fine"}`)
	}))
	model := listen(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"fine\"}}]}\n\ndata: [DONE]\n\n")
	}))
	var peer *httptest.Server
	peer = listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, strings.ReplaceAll(bridgetest.StreamingCard, "%s", peer.URL))
			return
		}
		bridgetest.WriteEvents(w, bridgetest.ArtifactChunk("fine", false), bridgetest.StatusUpdate("COMPLETED", ""))
	}))
	server := bridgetest.NewMCPServer()
	tools := listen(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))

	ctx := beeos.WithTrace(t.Context(), beeos.ParseTrace(callerPlace, "a=1"))
	say := func(id string) error {
		_, err := client.New(app.REST, app.UserKey).Invoke(ctx, id, client.InvokeRequest{Message: "hi"})
		return err
	}
	callEcho := func(id string) error {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"n":1}}}`
		req, err := http.NewRequestWithContext(ctx, "POST", app.MCP+"/"+id+"/mcp", strings.NewReader(body))
		if err != nil {
			return err
		}
		for name, value := range map[string]string{"Authorization": "Bearer " + app.UserKey, "Content-Type": "application/json", "Traceparent": callerPlace, "Tracestate": "a=1"} {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	for name, c := range map[string]struct {
		run    func(context.Context, settings.Bridge) error
		call   func(id string) error
		inBody bool
	}{
		"http":   {(&httpbridge.Options{URL: plain.URL}).Run, say, true},
		"openai": {(&openai.Options{URL: model.URL, Model: "tiny"}).Run, say, false},
		"a2a":    {(&a2a.Options{URL: peer.URL}).Run, say, false},
		"mcp":    {(&mcpbridge.Options{Server: bridgetest.Command(tools.URL)}).Run, callEcho, true},
	} {
		t.Run(name, func(t *testing.T) {
			id := bridgetest.Connect(t, app, &bridgetest.Journal{}, name, func(ctx context.Context, o agent.Options) error {
				return c.run(ctx, settings.Bridge{Agent: o})
			})
			if err := c.call(id); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-told:
				if got.header != callerPlace || got.state != "a=1" || strings.Contains(got.body, `"traceparent":"`+callerPlace+`"`) != c.inBody {
					t.Errorf("it was told %+v", got)
				}
			default:
				t.Error("it was told nothing")
			}
		})
	}
}
