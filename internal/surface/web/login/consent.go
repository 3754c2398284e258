package login

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/oauth"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// consentData asks whether a program may use some of the visitor's agents.
type consentData struct {
	Name       string // what the program calls itself, made safe to show
	Host       string // where it says it comes from; "" = it does not say
	Loopback   bool   // a program on this computer
	SendsTo    string // where the answer goes
	Remembered bool   // it was allowed before
	Agents     []consentAgent
	Wanted     string // the agent that it asked for, which must be among the picked
	Foreign    string // set: that agent is not one the visitor can give
	All        bool
	For        int
	ReturnTo   string
}

type consentAgent struct {
	ID, Title, Text string
	Picked, Online  bool
}

const (
	maxGrant    = 366 * 24 * time.Hour // what the form's "for how long" may say
	maxAgents   = 10_000               // that are read of one owner
	maxPresence = 50                   // whose presence is asked for
)

// readTransaction takes the id out of return_to, which must be exactly the
// address that the MCP surface itself gives.
func (s *SignIn) readTransaction(r *page.Request) (returnTo, tx string, ok bool) {
	returnTo = r.FormValue("return_to")
	tx, ok = strings.CutPrefix(returnTo, s.MCPURL+"/oauth/return?tx=")
	if !ok || tx == "" || len(tx) > 128 {
		return "", "", false
	}
	for _, c := range []byte(tx) {
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			continue
		}
		return "", "", false
	}
	return returnTo, tx, true
}

func (s *SignIn) askConsent(r *page.Request) (page.Answer, error) {
	returnTo, tx, ok := s.readTransaction(r)
	if !ok {
		return page.Redirect("/", ""), nil
	}
	ask, err := s.OAuth.AskFor(r.Context(), tx, r.User.ID)
	if err != nil {
		return nil, explainExpiry(err)
	}
	c := readChoice(r)
	d := consentData{
		Name: page.ProgramName(ask.Client.Name), Host: safetext.Line(ask.Client.Host, 100), Loopback: ask.Client.Loopback, SendsTo: safetext.Line(ask.RedirectHost, 100),
		Remembered: ask.RememberedAll || len(ask.Remembered) > 0, All: c.All || ask.RememberedAll, For: int(c.For.Seconds()), ReturnTo: returnTo,
	}
	if ask.Client.Loopback && ask.Client.Registered == oauth.Dynamic {
		d.Host = ""
	}
	if d.Agents, err = s.grantableAgents(r.Context(), r.Visitor, slices.Concat(ask.Remembered, ask.Agents, c.Agents)); err != nil {
		return nil, err
	}
	d.Wanted = ask.AgentID
	if !slices.ContainsFunc(d.Agents, func(a consentAgent) bool { return a.ID == d.Wanted }) && d.Wanted != "" {
		d.Agents, d.Foreign = nil, safetext.Line(d.Wanted, 80)
	}
	return page.View{Page: "consent", Title: "Allow " + d.Name + "?", Here: "/", Data: d}, nil
}

// readChoice reads what the visitor has picked; nothing while they have not been
// asked, or if somebody else was.
func readChoice(r *page.Request) (c oauth.Choice) {
	if r.PostFormValue("user") != r.User.ID {
		return c
	}
	c = oauth.Choice{Agents: r.PostForm["agent"], All: r.PostFormValue("all") == "1"}
	if seconds, err := strconv.ParseInt(r.PostFormValue("for"), 10, 64); err == nil && seconds > 0 {
		c.For = min(time.Duration(min(seconds, int64(maxGrant.Seconds())))*time.Second, maxGrant)
	}
	return c
}

// explainExpiry says what to do when the request can no longer be answered.
func explainExpiry(err error) error {
	if beeos.CodeOf(err) == beeos.NotFound {
		return beeos.Wrap(beeos.NotFound, err, "this request was answered already or is too old; start again from the program that asked")
	}
	return err
}

// grantableAgents are the agents that can be granted, those asked for first.
func (s *SignIn) grantableAgents(ctx context.Context, v *page.Visitor, asked []string) ([]consentAgent, error) {
	enabled := true
	list, _, err := s.Agents.List(ctx, agents.Filter{OwnerID: v.User.ID, MCPEnabled: &enabled, Limit: maxAgents})
	if err != nil {
		return nil, err
	}
	var picked, others []consentAgent
	for i, a := range list {
		row := consentAgent{
			ID: a.ID, Title: page.AgentTitle(a), Text: safetext.Summary(a.Definition.Description, 120),
			Picked: slices.Contains(asked, a.ID) || len(list) == 1,
			Online: i < maxPresence && s.Online(ctx, a),
		}
		if row.Picked {
			picked = append(picked, row)
		} else {
			others = append(others, row)
		}
	}
	return append(picked, others...), nil
}

// takeConsent takes the answer. It ends on a page of ours that leads back, because
// browsers hold a form's redirects to the form-action of our policy.
func (s *SignIn) takeConsent(r *page.Request) (page.Answer, error) {
	_, tx, ok := s.readTransaction(r)
	if !ok {
		return page.Redirect("/", ""), nil
	}
	if r.PostFormValue("user") != r.User.ID {
		return s.askAgain(r, http.StatusConflict, "Somebody else was signed in when this page was opened. Look again and answer as yourself.")
	}
	switch r.PostFormValue("decision") {
	case "deny":
		target, err := s.OAuth.Deny(r.Context(), tx, r.User.ID)
		return leadBack(target, false), explainExpiry(err)
	case "allow":
	default:
		return nil, beeos.Errorf(beeos.InvalidParam, "answer with Allow or Deny")
	}
	c := readChoice(r)
	if !c.All && len(c.Agents) == 0 {
		return s.askAgain(r, http.StatusUnprocessableEntity, "Pick at least one agent, or deny.")
	}
	ask, err := s.OAuth.Ask(r.Context(), tx)
	if err != nil {
		return nil, explainExpiry(err)
	}
	if ask.AgentID != "" && !c.All && !slices.Contains(c.Agents, ask.AgentID) {
		return s.askAgain(r, http.StatusUnprocessableEntity, "The agent it asks for must be among them. Tick it, or deny.")
	}
	target, err := s.OAuth.Allow(r.Context(), tx, r.User.ID, c)
	if r.NoteProblem(err) {
		return s.askConsent(r)
	}
	return leadBack(target, true), explainExpiry(err)
}

func (s *SignIn) askAgain(r *page.Request, status int, problem string) (page.Answer, error) {
	r.SetProblem(problem, status)
	return s.askConsent(r)
}

// backData leads back to the program that asked.
type backData struct {
	URL     string
	Allowed bool
}

func leadBack(target string, allowed bool) page.Answer {
	return page.View{Page: "back", Title: "Going back", Here: "/", Next: target, Data: backData{target, allowed}}
}
