package talk

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// ConversationsCmd is about conversations: those of the console and those that
// were begun here or over REST.
type ConversationsCmd struct {
	List   ConversationsListCmd   `cmd:"" help:"List your conversations with an agent, newest first."`
	Show   ConversationsShowCmd   `cmd:"" help:"Print what was said in a conversation."`
	Begin  ConversationsBeginCmd  `cmd:"" help:"Begin a conversation and print its id."`
	Say    ConversationsSayCmd    `cmd:"" help:"Say something in a conversation and print the answer as it comes."`
	Delete ConversationsDeleteCmd `cmd:"" help:"Delete a conversation and everything said in it."`
}

// withAgent is what the commands about the conversations with an agent have in
// common.
type withAgent struct {
	remote.Server
	Agent string `arg:"" help:"Id, slug or name of the agent."`
	JSON  bool   `help:"Print JSON."`
}

// ProvideAgent finds the agent for each Run that takes one.
func (w *withAgent) ProvideAgent(ctx context.Context) (*client.Agent, error) {
	cl, err := w.ProvideClient()
	if err != nil {
		return nil, err
	}
	return cl.Find(ctx, w.Agent)
}

// ConversationsListCmd lists conversations.
type ConversationsListCmd struct {
	withAgent
	Limit int `default:"20" help:"How many."`
}

// Run lists them.
func (c *ConversationsListCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client, a *client.Agent) error {
	var list []client.Conversation
	for one, err := range cl.Conversations(ctx, a.ID) {
		if err != nil {
			return err
		}
		if len(list) == c.Limit {
			break
		}
		list = append(list, one)
	}
	return terminal.PrintList(t, c.JSON, list, "CONVERSATION STATE CHANGED TITLE", func(one *client.Conversation) []string {
		return []string{one.ID, one.State, terminal.Ago(one.LastActivityAt), terminal.Shorten(one.Title, 60)}
	})
}

// ConversationsBeginCmd begins a conversation.
type ConversationsBeginCmd struct {
	withAgent
	Title string `help:"What it is about."`
}

// Run prints the id.
func (c *ConversationsBeginCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client, a *client.Agent) error {
	one, err := cl.CreateConversation(ctx, a.ID, c.Title)
	if err != nil {
		return err
	}
	return t.PrintEither(c.JSON, one, one.ID)
}

// oneConversation is what the commands about one conversation have in common.
type oneConversation struct {
	withAgent
	Conversation string `arg:"" help:"Id of the conversation, as beeos conversations list shows it."`
}

// addHint says where ids come from, to who has a wrong one.
func (c *oneConversation) addHint(err error) error {
	return terminal.HintOn(beeos.AgentNotFound, err, "there is no such conversation", "see which there are with: beeos conversations list "+c.Agent)
}

// ConversationsShowCmd prints a conversation.
type ConversationsShowCmd struct{ oneConversation }

// Run prints what was said, the oldest first.
func (c *ConversationsShowCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client, a *client.Agent) error {
	var said []beeos.Message
	for m, err := range cl.Messages(ctx, a.ID, c.Conversation) {
		if err != nil {
			return c.addHint(err)
		}
		said = append(said, m)
	}
	if c.JSON {
		return t.PrintJSON(append([]beeos.Message{}, said...))
	}
	for i := range said {
		m := &said[i]
		who := cmp.Or(a.DisplayName, a.Name)
		if m.Type == beeos.ChatMessage || m.Type == beeos.Continue {
			who = "you"
		}
		if m.Body == "" {
			continue
		}
		if err := t.PrintLine(fmt.Sprintf("%s  %s: %s", m.CreatedAt.Local().Format(time.DateTime), terminal.Printable(who), m.Body)); err != nil {
			return err
		}
	}
	return nil
}

// ConversationsSayCmd says something.
type ConversationsSayCmd struct {
	oneConversation
	Message string `arg:"" help:"What to say; - reads it from stdin."`
}

// Run prints the answer as it comes.
func (c *ConversationsSayCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client, a *client.Agent) error {
	message, err := readMessage(t, c.Message)
	if err != nil {
		return err
	}
	id, err := cl.Say(ctx, a.ID, c.Conversation, message)
	if err != nil {
		return hintOffline(c.addHint(err), a)
	}
	return followTask(ctx, t, cl, &client.Task{ID: id, AgentID: a.ID}, c.JSON)
}

// ConversationsDeleteCmd deletes a conversation.
type ConversationsDeleteCmd struct{ oneConversation }

// Run deletes it.
func (c *ConversationsDeleteCmd) Run(ctx context.Context, cl *client.Client, a *client.Agent) error {
	return c.addHint(cl.DeleteConversation(ctx, a.ID, c.Conversation))
}
