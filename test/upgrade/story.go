package upgrade

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
)

// Story is what a server of a past version was asked to do and what it
// acknowledged: all of it must be there later.
type Story struct {
	Commit   string    `json:"commit"`
	Tables   int64     `json:"tables"`
	MadeAt   time.Time `json:"made_at"`
	AgentID  string    `json:"agent_id"`
	UserKey  string    `json:"user_key"`
	AgentKey string    `json:"agent_key"`
	Revoked  string    `json:"revoked_key"`

	Calls        []Call   `json:"calls"`
	Conversation string   `json:"conversation"`
	Said         []string `json:"said"`

	Done      string `json:"done"`      // a task that asked, was answered and has ended
	Waiting   string `json:"waiting"`   // one that still asks
	Approving string `json:"approving"` // one whose tool call nobody has decided about
	Approved  string `json:"approved"`  // one whose tool call was approved
	Pending   string `json:"pending"`   // the approval that is open
	Decided   string `json:"decided"`   // the one that is not

	File    string `json:"file"`
	SHA256  string `json:"sha256"`
	Webhook string `json:"webhook"` // of Done

	Clerk   string `json:"clerk"` // a built-in agent
	App     App    `json:"app"`
	Budget  string `json:"budget,omitempty"`  // where there are some
	Channel string `json:"channel,omitempty"` // that is told of approvals, likewise
}

// Call is one call with an idempotency key, and its answer.
type Call struct {
	Surface string `json:"surface"`
	Key     string `json:"key"`
	Text    string `json:"text"`
	Answer  string `json:"answer"`
}

// Door is a server as a caller with one key sees it.
type Door struct {
	*client.Client
	mcp string
}

// Open returns the way in for a key.
func Open(rest, mcp, key string) Door { return Door{client.New(rest, key), mcp} }

// Ask makes a call over a surface, mcp or rest, and returns what the agent said.
func (d Door) Ask(ctx context.Context, agentID string, c Call) (string, error) {
	if c.Surface == "rest" {
		a, err := d.Invoke(ctx, agentID, client.InvokeRequest{Message: c.Text, IdempotencyKey: c.Key})
		if err != nil {
			return "", err
		}
		return a.Text, failed(a.IsError, a.Text)
	}
	args, err := json.Marshal(map[string]string{"message": c.Text, "idempotency_key": c.Key})
	if err != nil {
		return "", err
	}
	r, err := d.CallTool(ctx, &client.Agent{MCPURL: d.mcp + "/" + agentID + "/mcp"}, agentID, args)
	if err != nil {
		return "", err
	}
	return r.Text(), failed(r.IsError, r.Text())
}

func failed(is bool, text string) error {
	if is {
		return errors.New("the agent failed: " + text)
	}
	return nil
}

// NewStory begins one about an agent.
func NewStory(agentID string) *Story { return &Story{AgentID: agentID, MadeAt: time.Now().UTC()} }

const fileText = "kept over upgrades"

// Tell has a server do what a Story remembers. The agent must be connected.
func (s *Story) Tell(ctx context.Context, d Door) error {
	for _, step := range []func(context.Context, Door) error{s.makeCalls, s.talk, s.makeKeys, s.keepFile, s.finishTask, s.leaveTasks} {
		if err := step(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

func (s *Story) makeCalls(ctx context.Context, d Door) error {
	for i := range 6 {
		c := Call{Surface: []string{"mcp", "rest"}[i%2], Key: fmt.Sprint("story-", i), Text: fmt.Sprint("call ", i)}
		var err error
		if c.Answer, err = d.Ask(ctx, s.AgentID, c); err != nil {
			return fmt.Errorf("call over %s: %w", c.Surface, err)
		}
		s.Calls = append(s.Calls, c)
	}
	r, err := d.CallTool(ctx, &client.Agent{MCPURL: d.mcp + "/" + s.AgentID + "/mcp"}, "shout", json.RawMessage(`{"text":"hello"}`))
	if err == nil && r.Text() != "HELLO" {
		err = fmt.Errorf("the tool said %q", r.Text())
	}
	if err != nil {
		return fmt.Errorf("call a tool: %w", err)
	}
	for ev, err := range d.Stream(ctx, s.AgentID, client.InvokeRequest{Message: "stream 5"}) {
		if err != nil {
			return fmt.Errorf("stream: %w", err)
		}
		_ = ev
	}
	return nil
}

func (s *Story) talk(ctx context.Context, d Door) error {
	c, err := d.CreateConversation(ctx, s.AgentID, "Kept")
	if err != nil {
		return fmt.Errorf("begin a conversation: %w", err)
	}
	s.Conversation = c.ID
	for _, text := range []string{"first", "second"} {
		if _, err := d.Say(ctx, s.AgentID, c.ID, text); err != nil {
			return fmt.Errorf("say something: %w", err)
		}
		if err := d.until(ctx, "the conversation goes on", func() (bool, error) {
			s.Said = nil
			for m, err := range d.Messages(ctx, s.AgentID, c.ID) {
				if err != nil {
					return false, err
				}
				s.Said = append(s.Said, m.Body)
			}
			return len(s.Said) > 0 && s.Said[len(s.Said)-1] == "echo: "+text, nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Story) makeKeys(ctx context.Context, d Door) error {
	k, err := d.CreateKey(ctx, s.AgentID, client.KeyRequest{Name: "kept"})
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	s.AgentKey = k.Secret
	gone, err := d.CreateKey(ctx, s.AgentID, client.KeyRequest{Name: "revoked"})
	if err == nil {
		s.Revoked = gone.Secret
		err = d.RevokeKey(ctx, s.AgentID, gone.ID)
	}
	if err != nil {
		return fmt.Errorf("revoke a key: %w", err)
	}
	return nil
}

func (s *Story) keepFile(ctx context.Context, d Door) error {
	f, err := d.Upload(ctx, "kept.txt", "text/plain", strings.NewReader(fileText), int64(len(fileText)))
	if err != nil {
		return fmt.Errorf("upload a file: %w", err)
	}
	s.File = f.FileID
	sum := sha256.Sum256([]byte(fileText))
	s.SHA256 = hex.EncodeToString(sum[:])
	if _, err := d.Invoke(ctx, s.AgentID, client.InvokeRequest{Message: "with a file", Attachments: []client.Attachment{{FileID: f.FileID}}}); err != nil {
		return fmt.Errorf("attach a file: %w", err)
	}
	if _, err := d.Invoke(ctx, s.AgentID, client.InvokeRequest{Message: "file of the agent's"}); err != nil {
		return fmt.Errorf("let the agent attach a file: %w", err)
	}
	return nil
}

// finishTask has a task ask, be answered and end, and a receiver be told.
func (s *Story) finishTask(ctx context.Context, d Door) error {
	told := make(chan struct{}, 64)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) //nolint:errcheck // it is told what it wants to know by being called
		told <- struct{}{}
	}))
	defer receiver.Close()
	id, err := s.begin(ctx, d, "ask which", beeos.TaskInputRequired)
	if err != nil {
		return err
	}
	s.Done = id
	hook, err := d.AddWebhook(ctx, s.AgentID, id, client.WebhookRequest{URL: receiver.URL, Secret: "sixteen characters"})
	if err != nil {
		return fmt.Errorf("add a webhook: %w", err)
	}
	s.Webhook = hook.ID
	if _, err := d.ContinueTask(ctx, s.AgentID, id, "that one"); err != nil {
		return fmt.Errorf("answer a task: %w", err)
	}
	if err := d.reach(ctx, s.AgentID, id, beeos.TaskCompleted); err != nil {
		return err
	}
	return d.until(ctx, "the webhook is told", func() (bool, error) {
		list, err := d.Deliveries(ctx, s.AgentID, id, hook.ID, 10)
		for _, one := range list {
			if one.Status != "succeeded" {
				return false, err
			}
		}
		return len(list) > 0 && len(told) > 0, err
	})
}

// leaveTasks leaves work behind that is under way.
func (s *Story) leaveTasks(ctx context.Context, d Door) (err error) {
	if s.Approved, err = s.begin(ctx, d, "write yes", ""); err != nil {
		return err
	}
	if s.Decided, err = d.approval(ctx, "yes"); err != nil {
		return err
	}
	if _, err := d.Approve(ctx, s.Decided); err != nil {
		return fmt.Errorf("approve: %w", err)
	}
	if err := d.reach(ctx, s.AgentID, s.Approved, beeos.TaskCompleted); err != nil {
		return err
	}
	if s.Waiting, err = s.begin(ctx, d, "ask later", beeos.TaskInputRequired); err != nil {
		return err
	}
	if s.Approving, err = s.begin(ctx, d, "write later", ""); err != nil {
		return err
	}
	s.Pending, err = d.approval(ctx, "later")
	return err
}

// begin makes a task and waits until it has come to a status, if one is given.
func (s *Story) begin(ctx context.Context, d Door, text string, status beeos.TaskStatus) (string, error) {
	week := 7 * 24 * time.Hour
	t, err := d.CreateTask(ctx, s.AgentID, client.TaskRequest{Message: text, DeadlineMS: week.Milliseconds()})
	if err != nil {
		return "", fmt.Errorf("make a task: %w", err)
	}
	if status == "" {
		return t.ID, nil
	}
	return t.ID, d.reach(ctx, s.AgentID, t.ID, status)
}

// approval waits until a tool call with that text is to be decided about.
func (d Door) approval(ctx context.Context, text string) (id string, err error) {
	err = d.until(ctx, "an approval is asked for", func() (bool, error) {
		list, err := d.Approvals(ctx, "pending")
		for _, a := range list {
			if bytes.Contains(a.Arguments, []byte(text)) {
				id = a.ID
			}
		}
		return id != "", err
	})
	return id, err
}

// reach waits until a task has come to a status.
func (d Door) reach(ctx context.Context, agentID, taskID string, status beeos.TaskStatus) error {
	return d.until(ctx, "the task is "+string(status), func() (bool, error) {
		t, err := d.Task(ctx, agentID, taskID)
		return err == nil && t.Status == status, err
	})
}

// until asks again and again: the surfaces of all versions have no event for it.
func (d Door) until(ctx context.Context, what string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.New("it does not come to this: " + what)
		}
	}
}
