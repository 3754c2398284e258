package oauth

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/access/oauth/protocol"
	agentstore "github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/grants"
)

// agentsMost may be granted by name. More would make tokens too long for the
// headers of some proxies; who has more grants all.
const agentsMost = 50

// Client is who asks, in words for a person. Nothing in it is proven but that
// the answer goes to the redirect's host.
type Client struct {
	ID         string
	Name       string
	Host       string // of its document, or of its redirect
	Loopback   bool   // a program on the person's computer
	Registered string // Dynamic or Document
}

// Ask is what a person is to decide.
type Ask struct {
	Client        Client
	RedirectHost  string
	AgentID       string   // the one agent that it wants to talk to, or ""
	Agents        []string // all that it asked for by name
	Remembered    []string // what this person allows it already
	RememberedAll bool
}

// Ask returns an open request; NotFound when there is none.
func (s *Server) Ask(ctx context.Context, tx string) (Ask, error) {
	t, err := s.opt.Grants.GetFlow(ctx, tx, s.opt.Now())
	if err != nil {
		return Ask{}, err
	}
	_, agentID, _ := protocol.ParseResource(s.Issuer, t.Resource)
	a := Ask{
		Client: shownClient(t.ClientID, t.ClientName, t.RedirectURI), AgentID: agentID, Agents: listRequested(agentID, t.Scope),
	}
	if u, ok := parseRedirect(t.RedirectURI); ok {
		a.RedirectHost = shownHost(u)
	}
	return a, nil
}

func shownClient(id, name, redirect string) Client {
	c := Client{ID: id, Name: name, Registered: Dynamic}
	if u, ok := parseRedirect(redirect); ok {
		c.Host, c.Loopback = shownHost(u), loopback(u)
	}
	if !strings.HasPrefix(id, clientPrefix) {
		c.Registered = Document
		if u, err := url.Parse(id); err == nil {
			c.Host = u.Host
		}
	}
	return c
}

// AskFor is Ask with what the person allows this client already. It fills the
// page in; nobody is spared the page, because anybody can pose as a client
// that lives on the person's computer.
func (s *Server) AskFor(ctx context.Context, tx, userID string) (Ask, error) {
	a, err := s.Ask(ctx, tx)
	if err != nil {
		return a, err
	}
	g, err := s.opt.Grants.GetLiveGrant(ctx, userID, a.Client.ID)
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return a, err
	}
	if err == nil && (g.ExpiresAt.IsZero() || g.ExpiresAt.After(s.opt.Now())) {
		a.Remembered, a.RememberedAll = g.Agents, g.All
	}
	return a, nil
}

// Choice is what a person allows.
type Choice struct {
	Agents []string
	All    bool          // also agents that are added later
	For    time.Duration // 0 = until revoked
}

// Allow keeps a person's yes and returns where to send the browser. Agents
// that are not theirs, or not open to MCP, do not count. When none is left, or
// not the one that the client wants to talk to, it is a no.
func (s *Server) Allow(ctx context.Context, tx, userID string, c Choice) (string, error) {
	if c.For < 0 {
		return "", beeos.Errorf(beeos.InvalidParam, "choose a time in the future, or none")
	}
	t, err := s.opt.Grants.GetFlow(ctx, tx, s.opt.Now())
	if err != nil {
		return "", err
	}
	_, wanted, _ := protocol.ParseResource(s.Issuer, t.Resource)
	agents, err := s.grantable(ctx, userID, c, wanted)
	if err != nil {
		return "", err
	}
	if len(agents) == 0 || wanted != "" && !slices.Contains(agents, wanted) {
		return s.Deny(ctx, tx, userID)
	}
	answer := grants.Flow{ID: tx, UserID: userID, Allowed: true, All: c.All, Agents: agents}
	if c.All {
		answer.Agents = nil
	}
	if c.For > 0 {
		answer.Until = s.opt.Now().Add(c.For)
	}
	return s.storeAnswer(ctx, answer)
}

// grantable are the agents of a choice that the person may give; of all, those
// that matter: one, or the one that is wanted.
func (s *Server) grantable(ctx context.Context, userID string, c Choice, wanted string) ([]string, error) {
	f := agentstore.Filter{OwnerID: userID, MCPEnabled: new(true), IDs: append([]string{}, c.Agents...), Limit: agentsMost}
	switch {
	case c.All && wanted != "":
		f.IDs = []string{wanted}
	case c.All: // a person without agents yet may grant those to come
		return []string{protocol.AllScope}, nil
	case len(c.Agents) > agentsMost:
		return nil, beeos.Errorf(beeos.InvalidParam, "at most %d agents can be picked by name; pick fewer, or all", agentsMost)
	}
	list, _, err := s.opt.Agents.List(ctx, f)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, a := range list {
		ids = append(ids, a.ID)
	}
	slices.Sort(ids)
	return ids, nil
}

// Deny keeps a person's no and returns where to send the browser.
func (s *Server) Deny(ctx context.Context, tx, userID string) (string, error) {
	return s.storeAnswer(ctx, grants.Flow{ID: tx, UserID: userID})
}

// storeAnswer makes the ticket with which the browser proves what was said. It
// is of use in that browser alone, and once.
func (s *Server) storeAnswer(ctx context.Context, t grants.Flow) (string, error) {
	ticket := beeos.NewSecret("")
	t.Ticket = auth.Hash(ticket)
	if err := s.opt.Grants.AnswerFlow(ctx, t, s.opt.Now()); err != nil {
		return "", err
	}
	return s.Issuer + "/oauth/return?" + url.Values{"tx": {t.ID}, "_bt": {ticket}}.Encode(), nil
}
