package acp_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos/internal/outward/bridge/acp"
)

// keyed sends the user's key along.
type keyed string

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// TestQuestionsReachThePerson behind a caller who can be asked; any other is not
// there to answer.
func TestQuestionsReachThePerson(t *testing.T) {
	s := connect(t, "x", acp.Options{})
	const question = `request elicitation/create {"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`
	s.want(question, `{"action":"cancel"}`)
	for action, want := range map[string]string{"accept": `{"action":"accept","content":{"name":"Ann"}}`, "decline": `{"action":"decline"}`} {
		c := mcp.NewClient(&mcp.Implementation{Name: "caller", Version: "1"}, &mcp.ClientOptions{
			ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				res := &mcp.ElicitResult{Action: action}
				if r.Params.Message == "Who?" && action == "accept" {
					res.Content = map[string]any{"name": "Ann"}
				}
				return res, nil
			},
		})
		session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.app.MCP + "/" + s.id + "/mcp", HTTPClient: &http.Client{Transport: keyed(s.app.UserKey)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: s.id, Arguments: map[string]any{"message": question}})
		if err != nil {
			t.Fatal(err)
		}
		if text := got.Content[0].(*mcp.TextContent).Text; text != want {
			t.Errorf("%s: %s", action, text)
		}
		session.Close()
	}
}
