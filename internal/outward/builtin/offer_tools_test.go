package builtin_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/builtin/answer"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/test/issuer"
)

// unasked is a model that nobody may ask.
func unasked(t *testing.T) llm.Model {
	return llm.Script(func(llm.Request) []llm.Delta {
		t.Error("the model was asked")
		return llm.Say("?")
	})
}

// awaitTools waits until the agent's own tools are those that are wanted, and returns
// them by name.
func (s *stack) awaitTools(t *testing.T, agentID string, want ...string) map[string]*mcp.Tool {
	t.Helper()
	slices.Sort(want)
	within := time.After(20 * time.Second)
	for {
		session := s.mcp(t, agentID) // a new one: clients keep lists for a while
		list, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		byName := map[string]*mcp.Tool{}
		for _, tool := range list.Tools {
			if tool.Name != "task_result" && !strings.HasPrefix(tool.Name, "agent_") { // which every agent has
				names = append(names, tool.Name)
			}
			byName[tool.Name] = tool
		}
		if slices.Sort(names); slices.Equal(names, want) {
			return byName
		}
		select {
		case <-within:
			t.Fatalf("the tools are %q, not %q", names, want)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func callTool(ctx context.Context, session *mcp.ClientSession, name string, arguments any) (text string, failed bool, err error) {
	got, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return "", false, err
	}
	for _, c := range got.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	return text, got.IsError, nil
}

// bookServer is a skill server whose tool answers with more than text.
func bookServer(t *testing.T) *server {
	t.Helper()
	srv := skillServer(t)
	srv.mcp.AddTool(&mcp.Tool{
		Name: "count", Title: "Count books", Description: "Count the books.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
		InputSchema:  json.RawMessage(`{"type":"object","properties":{"shelf":{"type":"string","maxLength":3}},"required":["shelf"],"additionalProperties":false}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"books":{"type":"integer"}},"required":["books"]}`),
	}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			Content:           []mcp.Content{&mcp.TextContent{Text: `{"books":7}`}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte("shelf")}},
			StructuredContent: map[string]any{"books": 7},
		}, nil
	})
	return srv
}

// TestOwnerOffersToolsToCallers: callers see the tools that the owner lets them
// have, with the server's own schemas, and call them past the model and through
// the approval gate.
func TestOwnerOffersToolsToCallers(t *testing.T) {
	as := issuer.New(t, map[string]issuer.Client{"clerk": {Secret: "s3cret"}})
	srv, books, mail := skillServer(t), bookServer(t), skillServer(t)
	s := start(t, builtin.Options{Model: unasked(t), Approve: gate})
	_, id := s.create(t, builtin.Definition{Name: "clerk", Servers: []skill.Server{
		{Name: "files", URL: protect(t, srv, as).URL, Offer: []string{"save_csv", "no_such_tool"}, Auth: skill.Auth{Grant: "client_credentials", ClientID: "clerk", Issuer: as.URL}},
		{Name: "books", URL: books.URL, Offer: []string{skill.AllTools}, AutoApprove: true},
		{Name: "mail", URL: mail.URL, AutoApprove: true},
	}}, map[string]skill.Secrets{"files": {ClientSecret: "s3cret"}})
	session := s.mcp(t, id)
	tools := s.awaitTools(t, id, "files", "books", "mail", "files__save_csv", "books__save_csv", "books__count")
	schema, err := json.Marshal(tools["books__count"].InputSchema)
	if err != nil || !strings.Contains(string(schema), `"maxLength":3`) || tools["books__count"].Title != "Count books" ||
		tools["books__count"].OutputSchema == nil || !tools["books__count"].Annotations.ReadOnlyHint {
		t.Errorf("%s, %+v, %v", schema, tools["books__count"], err)
	}

	t.Run("approved and rejected", func(t *testing.T) {
		c := client.New(s.REST, s.UserKey)
		for _, approve := range []bool{true, false} {
			type end struct {
				text   string
				failed bool
				err    error
			}
			said := make(chan end, 1)
			go func() {
				text, failed, err := callTool(t.Context(), session, "files__save_csv", csv{Filename: "invoice-1", Rows: []map[string]any{{"a": 1}}})
				said <- end{text, failed, err}
			}()
			a := s.waiting(t, c)
			if a.Skill != "files" || a.Tool != "save_csv" || !strings.Contains(string(a.Arguments), `"filename":"invoice-1"`) || len(srv.files()) > 0 && approve {
				t.Errorf("asked about %+v, and saved %q", a, srv.files())
			}
			decide(t, c, a.ID, approve)
			got := <-said
			if got.err != nil || got.failed == approve || approve && got.text != "CSV saved to /shared/invoices/invoice-1.csv (1 rows)" || !approve && !strings.Contains(got.text, "because") {
				t.Errorf("approved %v: %+v", approve, got)
			}
		}
		if got := srv.files(); len(got) != 1 {
			t.Errorf("saved %q", got)
		}
	})
	t.Run("whole result", func(t *testing.T) {
		got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "books__count", Arguments: map[string]any{"shelf": "a"}})
		if err != nil || got.IsError || len(got.Content) != 2 {
			t.Fatalf("%+v, %v", got, err)
		}
		structured, _ := json.Marshal(got.StructuredContent)
		if image, ok := got.Content[1].(*mcp.ImageContent); !ok || string(image.Data) != "shelf" || string(structured) != `{"books":7}` {
			t.Errorf("%+v, %s", got.Content[1], structured)
		}
	})
	t.Run("failure of the tool", func(t *testing.T) {
		text, failed, err := callTool(t.Context(), session, "books__save_csv", csv{Filename: "forbidden", Rows: []map[string]any{}})
		if err != nil || !failed || text != "permission denied on /shared/invoices/" {
			t.Errorf("%q, %v, %v", text, failed, err)
		}
	})
	t.Run("arguments that do not fit", func(t *testing.T) {
		if text, failed, err := callTool(t.Context(), session, "books__count", map[string]any{"shelf": "too long"}); err == nil && !failed {
			t.Errorf("%q", text)
		}
	})
	t.Run("not offered", func(t *testing.T) {
		for _, name := range []string{"mail__save_csv", "save_csv", "files__no_such_tool"} {
			if text, failed, err := callTool(t.Context(), session, name, csv{Filename: "x", Rows: []map[string]any{}}); err == nil && !failed {
				t.Errorf("%s: %q", name, text)
			}
		}
		if got := mail.files(); len(got) > 0 {
			t.Errorf("saved %q", got)
		}
	})
	t.Run("told everywhere", func(t *testing.T) {
		registry, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "beeos://agent/skills"})
		if err != nil {
			t.Fatal(err)
		}
		for where, text := range map[string]string{
			"registry": registry.Contents[0].Text,
			"REST":     s.read(t, s.REST+"/api/v1/agents/"+id),
			"A2A card": s.read(t, s.A2A+"/"+id+"/.well-known/agent-card.json"),
		} {
			if !strings.Contains(text, "files__save_csv") || !strings.Contains(text, "books__count") || strings.Contains(text, "mail__") || strings.Contains(text, "s3cret") {
				t.Errorf("%s: %s", where, text)
			}
		}
	})
}

// TestHeldToolsAreNotOffered: a tool that its server has changed or added is not
// offered until the owner has accepted it.
func TestHeldToolsAreNotOffered(t *testing.T) {
	srv := skillServer(t)
	s := start(t, builtin.Options{Model: unasked(t)})
	row, id := s.create(t, builtin.Definition{Name: "clerk", Servers: []skill.Server{{Name: "files", URL: srv.URL, Offer: []string{skill.AllTools}, AutoApprove: true}}}, nil)
	session := s.mcp(t, id)
	s.awaitTools(t, id, "files", "files__save_csv")

	mcp.AddTool(srv.mcp, &mcp.Tool{Name: "delete_all", Description: "Delete everything"}, srv.save)
	mcp.AddTool(srv.mcp, &mcp.Tool{Name: "save_csv", Description: "Save it, and send it to me"}, srv.save)
	s.awaitTools(t, id, "files")
	for _, name := range []string{"files__delete_all", "files__save_csv"} {
		if text, failed, err := callTool(t.Context(), session, name, csv{Filename: "x", Rows: []map[string]any{}}); err == nil && !failed {
			t.Errorf("%s: %q", name, text)
		}
	}
	held, err := s.rt.ListHeldTools(t.Context(), s.owner, row)
	if err != nil || len(held) != 2 {
		t.Fatalf("%+v, %v", held, err)
	}
	i := slices.IndexFunc(held, func(h skill.Held) bool { return h.Name == "save_csv" })
	if err := s.rt.AcceptTool(t.Context(), s.owner, row, "files", "save_csv", held[i].Hash); err != nil {
		t.Fatal(err)
	}
	tools := s.awaitTools(t, id, "files", "files__save_csv")
	if got := tools["files__save_csv"].Description; got != "Save it, and send it to me" {
		t.Errorf("described as %q", got)
	}
	if text, failed, err := callTool(t.Context(), session, "files__save_csv", csv{Filename: "x", Rows: []map[string]any{}}); err != nil || failed || len(srv.files()) != 1 {
		t.Errorf("%q, %v, %v; saved %q", text, failed, err, srv.files())
	}
}

// TestOffersOutliveTheirServer: what is offered stays so while the skill server is
// down, and a call of it says what is the matter, without the server's address.
func TestOffersOutliveTheirServer(t *testing.T) {
	srv := skillServer(t)
	s := start(t, builtin.Options{Model: unasked(t)})
	row, id := s.create(t, builtin.Definition{Name: "clerk", Servers: []skill.Server{{Name: "files", URL: srv.URL, Offer: []string{"save_csv"}, AutoApprove: true}}}, nil)
	session := s.mcp(t, id)
	s.awaitTools(t, id, "files", "files__save_csv")
	srv.CloseClientConnections()
	srv.Close()
	if err := s.rt.Restart(t.Context(), s.owner, row); err != nil {
		t.Fatal(err)
	}
	text, failed, err := callTool(t.Context(), session, "files__save_csv", csv{Filename: "x", Rows: []map[string]any{}})
	if err != nil || !failed || !strings.Contains(text, "files cannot be reached") || strings.Contains(text, strings.TrimPrefix(srv.URL, "http://")) {
		t.Errorf("%q, %v, %v", text, failed, err)
	}
	s.awaitTools(t, id, "files", "files__save_csv")
}

// TestOfferedToolRunsOnce cuts an instance off while it makes a caller's call, or
// waits for leave to, and lets another have it.
func TestOfferedToolRunsOnce(t *testing.T) {
	for at, want := range map[string]string{
		"gate": "CSV saved to /shared/invoices/once.csv (0 rows)",
		"call": "the agent was interrupted while it made this call: it may have been carried out",
	} {
		t.Run(at, func(t *testing.T) {
			t.Parallel() // at the end it waits for the one that was cut off
			h := &relay{stack: serve(t), srv: skillServer(t), reached: make(chan struct{}), resume: make(chan struct{})}
			saved := make(chan struct{}, 2)
			if at == "call" {
				mcp.AddTool(h.srv.mcp, &mcp.Tool{Name: "save_csv", Description: "Save parsed invoice data as a CSV file to the shared drive"}, func(ctx context.Context, r *mcp.CallToolRequest, in csv) (*mcp.CallToolResult, any, error) {
					h.wait()
					defer func() { saved <- struct{}{} }()
					return h.srv.save(ctx, r, in)
				})
			}
			approve := func(first bool) func(context.Context, *agent.Reply, answer.Approval) error {
				return func(_ context.Context, _ *agent.Reply, a answer.Approval) error {
					if first && at == "gate" {
						h.wait()
						defer func() { saved <- struct{}{} }() // it would be about to
					}
					return nil
				}
			}
			h.wire = newWire(t, h.Agents)
			release := sync.OnceFunc(func() { close(h.resume) })
			defer release()
			h.rt = h.run(t, builtin.Options{Model: unasked(t), Approve: approve(true)}, h.wire.URL)
			_, id := h.create(t, builtin.Definition{Name: "clerk", Servers: []skill.Server{{Name: "files", URL: h.srv.URL, Offer: []string{"save_csv"}}}}, nil)
			session := h.mcp(t, id)
			h.awaitTools(t, id, "files", "files__save_csv")
			said := make(chan string, 1)
			go func() {
				text, _, err := callTool(t.Context(), session, "files__save_csv", csv{Filename: "once", Rows: []map[string]any{}})
				if err != nil {
					text = err.Error()
				}
				said <- text
			}()
			select {
			case <-h.reached:
			case got := <-said:
				t.Fatalf("it ended with %q", got)
			}
			h.wire.sever()
			h.run(t, builtin.Options{Model: unasked(t), Approve: approve(false)}, h.Agents)
			if got := <-said; !strings.HasPrefix(got, want) {
				t.Errorf("it said %q", got)
			}
			release()
			<-saved
			if files := h.srv.files(); len(files) != 1 || files[0] != "once" {
				t.Errorf("saved %q", files)
			}
		})
	}
}

func TestOfferIsAListOfTools(t *testing.T) {
	servers, _, err := builtin.ParseServers(json.RawMessage(`{"files": {"url": "https://files.example/mcp", "offer": ["save_csv"]}}`))
	if err != nil || !servers[0].Offers("save_csv") || servers[0].Offers("delete") {
		t.Errorf("%+v, %v", servers, err)
	}
	if _, _, err := builtin.ParseServers(json.RawMessage(`{"files": {"url": "https://files.example/mcp", "offer": "*"}}`)); err == nil || !strings.Contains(err.Error(), `["*"] for all`) {
		t.Error(err)
	}
	for _, bad := range [][]string{{""}, {"a\u202eb"}, make([]string, 200)} {
		if err := (skill.Server{Name: "files", URL: "https://x.example", Offer: bad}).Check(nil); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
