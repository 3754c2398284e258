package upgrade

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/hands"
	"github.com/beeos/beeos/test/person"
)

// World is what is around a server that is to keep more than calls: the person whose
// server it is, the drive and the model of a built-in agent, an app, and somebody who
// is told of approvals.
type World struct {
	Door
	Node     *Node
	Programs Programs
	Key      string // of the owner
	Tables   int64  // what the server can do
	Drive    *hands.Drive
}

// Of these versions of the tables on there is what they are for.
const (
	usageSince         = 26
	budgetsSince       = 32
	notificationsSince = 35
)

// Clerk is the built-in agent. It reads the note on the drive, whatever it is told.
const Clerk = "clerk"

// ThinkOfClerk is its model, which remembers nothing and so can be another one later.
func ThinkOfClerk(t hands.Talk) hands.Words {
	if last := t.Last(); last.Role == "tool" || len(t.Tools) == 0 {
		return hands.Words{Text: "The clerk has heard: " + last.Content}
	}
	return hands.Words{Calls: []hands.Call{{Tool: hands.Skill + "__read_note", Arguments: "{}"}}}
}

// App is a program that somebody let in over OAuth, with what it kept.
type App struct {
	ClientID string `json:"client_id"`
	Resource string `json:"resource"`
	Refresh  string `json:"refresh_token"`
}

// TellMore has a server keep one of all that a server of its age can. What tells of
// approvals comes before the story that has some, so tell it first.
func (s *Story) TellMore(ctx context.Context, w *World) error {
	for _, step := range []func(context.Context, *World) error{s.employClerk, s.connectApp, s.setRule, s.setBudget, s.hearOfApprovals} {
		if err := step(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// employClerk makes a built-in agent, whose skill wants a token.
func (s *Story) employClerk(ctx context.Context, w *World) error {
	if _, err := w.Deploy(ctx, w.Drive.Deployment(Clerk, "read_note"), false); err != nil {
		return fmt.Errorf("deploy an agent: %w", err)
	}
	err := w.until(ctx, "the built-in agent is online", func() (bool, error) {
		a, err := w.Find(ctx, Clerk)
		if err != nil {
			return false, err
		}
		s.Clerk = a.ID
		return a.Online, nil
	})
	if err != nil {
		return err
	}
	a, err := w.Invoke(ctx, s.Clerk, client.InvokeRequest{Message: "what does the note say?"})
	if err == nil && !strings.Contains(a.Text, hands.Note) {
		err = fmt.Errorf("it says %q", a.Text)
	}
	if err != nil {
		return fmt.Errorf("ask the built-in agent: %w", err)
	}
	return nil
}

// connectApp has the owner choose a password, sign in and let an app at the agent.
func (s *Story) connectApp(ctx context.Context, w *World) error {
	link, err := w.Node.Run(ctx, w.Programs, "users", "reset", "owner@example.com")
	if err != nil {
		return err
	}
	owner := &person.Person{Email: "owner@example.com", Password: "correct horse battery", AgentID: s.AgentID}
	if err := owner.Join(ctx, link); err != nil {
		return fmt.Errorf("choose a password: %w", err)
	}
	back := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer back.Close()
	var about struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
	}
	if err := exchange(ctx, http.MethodGet, ResourceURL(w.Node.MCP, s.AgentID), "", "", nil, &about); err != nil {
		return err
	}
	var app struct {
		ID string `json:"client_id"`
	}
	if err := exchange(ctx, http.MethodPost, about.Servers[0]+"/oauth/register", "application/json", "", map[string]any{"client_name": "Kept", "redirect_uris": []string{back.URL}}, &app); err != nil {
		return err
	}
	const verifier = "a-verifier-that-is-as-long-as-one-has-to-be-43"
	sum := sha256.Sum256([]byte(verifier))
	at, err := owner.Consent(ctx, about.Servers[0]+"/oauth/authorize?"+url.Values{
		"response_type": {"code"}, "client_id": {app.ID}, "redirect_uri": {back.URL}, "resource": {about.Resource},
		"code_challenge_method": {"S256"}, "code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])},
	}.Encode())
	if err != nil {
		return fmt.Errorf("let an app in: %w", err)
	}
	s.App = App{ClientID: app.ID, Resource: about.Resource}
	_, err = s.App.getToken(ctx, about.Servers[0], url.Values{"grant_type": {"authorization_code"}, "code": {at.Query().Get("code")}, "code_verifier": {verifier}, "redirect_uri": {back.URL}})
	return err
}

// ResourceURL is where a server says who gives tokens for an agent.
func ResourceURL(mcp, agentID string) string {
	return mcp + "/.well-known/oauth-protected-resource/" + agentID + "/mcp"
}

// getToken gets an access token, and keeps the refresh token that comes with it.
func (a *App) getToken(ctx context.Context, server string, form url.Values) (access string, err error) {
	form.Set("client_id", a.ClientID)
	form.Set("resource", a.Resource)
	var got struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
	}
	if err := exchange(ctx, http.MethodPost, server+"/oauth/token", "application/x-www-form-urlencoded", "", form, &got); err != nil {
		return "", err
	}
	if got.Access == "" || got.Refresh == "" {
		return "", errors.New("the server gives no tokens")
	}
	a.Refresh = got.Refresh
	return got.Access, nil
}

// RefreshToken gets the app another access token.
func (a *App) RefreshToken(ctx context.Context, server string) (string, error) {
	return a.getToken(ctx, server, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {a.Refresh}})
}

// RuleTool is the tool that a rule of approval is about.
const RuleTool = "read_file"

// PolicyURL is where a server has the rules of an agent.
func PolicyURL(rest, agentID string) string {
	return rest + "/api/v1/agents/" + agentID + "/approval-policy"
}

func (s *Story) setRule(ctx context.Context, w *World) error {
	rules := map[string]any{"tools": []any{map[string]any{"tool": RuleTool, "auto_approve": true}}}
	return exchange(ctx, http.MethodPatch, PolicyURL(w.Node.REST, s.AgentID), "application/json", w.Key, rules, nil)
}

func (s *Story) setBudget(ctx context.Context, w *World) error {
	if w.Tables < budgetsSince {
		return nil
	}
	b, err := w.SetBudget(ctx, client.BudgetRequest{SubjectType: "agent", SubjectID: s.AgentID, Unit: "calls", Period: "month", Limit: 1_000_000})
	if err != nil {
		return fmt.Errorf("set a budget: %w", err)
	}
	s.Budget = b.ID
	return nil
}

// hearOfApprovals has a receiver told of approvals that nobody answers at.
func (s *Story) hearOfApprovals(ctx context.Context, w *World) error {
	if w.Tables < notificationsSince {
		return nil
	}
	c, err := w.CreateNotificationChannel(ctx, client.NotificationChannelRequest{Kind: "webhook", URL: w.Drive.Issuer.URL + "/nobody"})
	if err != nil {
		return fmt.Errorf("let a receiver hear of approvals: %w", err)
	}
	s.Channel = c.ID
	return nil
}

// exchange sends a request with a body, a form or what becomes JSON, and reads the answer.
func exchange(ctx context.Context, method, address, contentType, key string, body, answer any) error {
	var text []byte
	switch b := body.(type) {
	case nil:
	case url.Values:
		text = []byte(b.Encode())
	default:
		var err error
		if text, err = json.Marshal(b); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(text))
	if err != nil {
		return err
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s\n%s", method, address, resp.Status, said)
	}
	if err != nil || answer == nil {
		return err
	}
	return json.Unmarshal(said, answer)
}
