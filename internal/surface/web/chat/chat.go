// Package chat is the part of the console where people talk with agents: the
// page of a conversation and the list of them (chat.go, page.go), those with all
// agents (all.go), sending a
// message (send.go), the other forms (forms.go) and the stream that shows what
// is said while it is said (live.go). turn.go shows one request by itself, for the
// room of tasks.
package chat

import (
	"context"
	"embed"
	"log/slog"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/surface/web/page"
)

//go:embed templates
var templates embed.FS

// Options is what the chat stands on.
type Options struct {
	Pages     *page.Server
	Agents    *agents.Table
	Approvals *approvals.Table
	Ledger    *ledger.Ledger
	Bus       *bus.Bus // nil: an answer shows when it is complete
	Calls     *invoke.Calls
	Files     *files.Files // nil: files cannot be attached
	Log       *slog.Logger

	// What other rooms of the console know.
	Online        func(ctx context.Context, a *beeos.Agent) bool
	DescribeAgent func(ctx context.Context, a *beeos.Agent) (page.AgentRow, error)
	ShowApprovals func(ctx context.Context, v *page.Visitor, list []approvals.Approval) []page.ApprovalCard
	Acts          *act.Acts
}

// Chat serves the pages of conversations.
type Chat struct{ Options }

// Mount adds the templates and routes to the console.
func Mount(opt Options) (*Chat, error) {
	c := &Chat{opt}
	if err := c.Pages.AddTemplates(templates); err != nil {
		return nil, err
	}
	const list, one = "/agents/{agent}/chat", "/agents/{agent}/chat/{conversation}"
	show := page.With(c.findConversation, c.show)
	form := func(do func(*page.Request, conversation) (page.Answer, error)) page.Action {
		return page.Form(page.With(c.findConversation, do), show)
	}
	c.Pages.Handle("GET /conversations", page.SignedIn, c.showAll)
	c.Pages.Handle("GET "+list, page.SignedIn, show)
	c.Pages.Handle("POST "+list, page.FileSenders, form(c.beginConversation))
	c.Pages.Handle("GET "+one, page.SignedIn, show)
	c.Pages.Handle("POST "+one, page.FileSenders, form(c.sendMessage))
	c.Pages.Handle("GET "+one+"/live", page.SignedIn, page.With(c.findConversation, c.streamConversation))
	c.Pages.Handle("POST "+one+"/stop", page.SignedIn, form(c.stopAgent))
	c.Pages.Handle("POST "+one+"/answer", page.SignedIn, form(c.answerQuestion))
	c.Pages.Handle("POST "+one+"/title", page.SignedIn, form(c.renameConversation))
	c.Pages.Handle("POST "+one+"/delete", page.SignedIn, form(c.deleteConversation))
	c.Pages.Handle("GET "+one+"/{form}", page.SignedIn, page.With(c.findConversation, redirectToConversation))
	return c, nil
}

// conversation is one of the visitor's own, with the agent that they talk with.
type conversation struct {
	agent   *beeos.Agent
	channel beeos.Channel // the zero one has not begun
}

func (c conversation) hasBegun() bool { return c.channel.ID != "" }

// listPath is where the visitor's conversations with the agent are.
func (c conversation) listPath() string { return "/agents/" + c.agent.ID + "/chat" }

func (c conversation) path() string {
	if !c.hasBegun() {
		return c.listPath()
	}
	return c.listPath() + "/" + c.channel.ID
}

// findConversation returns the conversation of the path if the visitor may call
// its agent and it is their own; without an id it is one that has not begun.
// What they may not see looks the same as what does not exist.
func (c *Chat) findConversation(r *page.Request) (conversation, error) {
	a, err := c.Agents.Get(r.Context(), r.PathValue("agent"))
	if err == nil && !r.Caller().MayReach(a) {
		err = beeos.Errorf(beeos.AgentNotFound, "there is no such agent; check the id, or list your agents")
	}
	id := r.PathValue("conversation")
	if err != nil || id == "" {
		return conversation{agent: a}, err
	}
	ch, err := c.Ledger.Channel(r.Context(), id)
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return conversation{}, err
	}
	if err != nil || ch.Owner != r.Caller().Principal() || ch.AgentID != a.ID || ch.Kind != beeos.KindConversation {
		return conversation{}, beeos.Errorf(beeos.NotFound, "you have no such conversation with this agent")
	}
	return conversation{a, ch}, nil
}
