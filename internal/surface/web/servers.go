package web

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// addData is the form that adds a skill server, with what somebody has filled
// in already. Secrets go in and never come back.
type addData struct {
	Path     string
	Commands []string // that an admin allowed
	Agents   []page.Choice
	Open     bool

	Name, URL, Command, Agent string
	How                       string // a way of ways
	ClientID, Issuer          string
}

// ways are how an agent can be let in by a protected server, by what the form
// calls them.
var ways = map[string]string{
	"":            "", // it is found out
	"own":         "authorization_code",
	"credentials": "client_credentials",
}

// readAddForm returns the form, with what somebody has filled in already.
func (s *Surface) readAddForm(r *page.Request, agentID string) addData {
	d := addData{
		Path: "/agents/" + agentID + "/skills", Name: nameServer(readField(r, "name"), readField(r, "url")), URL: readField(r, "url"), Command: readField(r, "command"), Agent: readField(r, "agent"),
		How: readField(r, "how"), ClientID: readField(r, "client_id"), Issuer: readField(r, "issuer"),
	}
	d.Open = r.PostForm.Has("url") || r.PostForm.Has("command") || r.PostForm.Has("agent")
	d.Name = cmp.Or(d.Name, d.Command)
	if s.Acts.Builtins != nil {
		d.Commands = s.Acts.Builtins.Commands(r.Context())
	}
	return d
}

// listPeers adds the other agents of the owner, which can be skills, too.
func (d *addData) listPeers(ctx context.Context, table *agents.Table, of *beeos.Agent) error {
	active := true
	list, _, err := table.List(ctx, agents.Filter{OwnerID: of.OwnerID, Active: &active, Limit: mostPeers})
	for _, a := range list {
		if a.ID != of.ID {
			d.Agents = append(d.Agents, page.Choice{Value: a.ID, Text: page.AgentTitle(a), Picked: a.ID == d.Agent})
		}
	}
	return err
}

// mostPeers is how many agents are offered to pick from.
const mostPeers = 500

// nameAfter is the short name of a skill that is an agent.
func nameAfter(a *beeos.Agent) string {
	name := strings.Trim(strings.ReplaceAll(strings.ToLower(a.Slug), "_", "-"), "-")
	return strings.TrimRight(name[:min(len(name), 32)], "-")
}

// addServer adds a skill server to a built-in agent.
func (s *Surface) addServer(r *page.Request, id string) error {
	add, secrets := s.readAddForm(r, ""), skill.Secrets{ClientSecret: readField(r, "client_secret"), PrivateKey: readField(r, "private_key")}
	grant, ok := ways[add.How]
	server := skill.Server{Name: add.Name, URL: add.URL, Command: add.Command, Agent: add.Agent}
	if add.Agent != "" && add.Name == "" {
		if a, err := s.Agents.Get(r.Context(), add.Agent); err == nil {
			server.Name = nameAfter(a)
		}
	}
	switch {
	case !ok:
		return beeos.Errorf(beeos.InvalidParam, "choose how the agent is let in")
	case add.URL == "" && add.Command == "" && add.Agent == "":
		return beeos.Errorf(beeos.MissingParam, "give the address of the skill server, or choose an agent")
	case grant != "" && add.ClientID == "":
		return beeos.Errorf(beeos.MissingParam, "give the client id that the authorization server knows")
	case add.How == "credentials" && secrets == skill.Secrets{}:
		return beeos.Errorf(beeos.MissingParam, "give the client secret, or the private key")
	}
	if grant != "" {
		server.Auth = skill.Auth{Grant: grant, ClientID: add.ClientID, Issuer: add.Issuer}
	} else {
		secrets = skill.Secrets{}
	}
	return s.Acts.ConnectSkill(r.Context(), r.Caller(), id, server, secrets)
}

// removeServer takes a skill away, with all that it was given.
func (s *Surface) removeServer(r *page.Request, id string) error {
	return s.Acts.DisconnectSkill(r.Context(), r.Caller(), id, r.PathValue("skill"))
}

// forgetSkill drops the tokens of a skill.
func (s *Surface) forgetSkill(r *page.Request, id string) error {
	return s.Acts.ForgetSkill(r.Context(), r.Caller(), id, r.PathValue("skill"))
}

// acceptTool lets the model see a tool as it is now. The form holds the hash
// of what was shown, which no other state of the tool has.
func (s *Surface) acceptTool(r *page.Request, id string) error {
	return s.Acts.AcceptTool(r.Context(), r.Caller(), id, r.PathValue("skill"), r.PostFormValue("hash"))
}

// authorizeData leads to where somebody has to go.
type authorizeData struct{ Skill, Host, URL, Back string }

// authorizeSkill sends the owner to the authorization server. It is a page
// that leads there, because browsers hold a form's redirects to the
// form-action of our policy.
func (s *Surface) authorizeSkill(r *page.Request, own ownBuiltin) (page.Answer, error) {
	a, name := own.agent, r.PathValue("skill")
	target, err := s.Acts.Builtins.StartConsent(r.Context(), r.User.ID, own.ID, name)
	if err != nil {
		return s.showSkillProblem(r, a, err)
	}
	d := authorizeData{Skill: name, Host: safetext.LinkHost(target), URL: target, Back: "/agents/" + a.ID + "/skills"}
	return page.View{Page: "authorize_skill", Title: "Going to " + d.Host, Here: d.Back, Next: target, Data: d}, nil
}

// finishAuthorization takes the owner back from the authorization server.
func (s *Surface) finishAuthorization(r *page.Request) (page.Answer, error) {
	id, err := s.Acts.AuthorizeSkill(r.Context(), r.Caller(), r.URL.Query())
	if id == "" {
		return nil, err
	}
	list, _, found := s.Agents.List(r.Context(), agents.Filter{OwnerID: r.User.ID, InstanceID: id, Limit: 1})
	switch {
	case found != nil || len(list) == 0:
		return page.Redirect("/agents", ""), found // it is gone
	case err != nil:
		return s.showSkillProblem(r, list[0], err)
	}
	return page.Redirect("/agents/"+list[0].ID+"/skills", "skill-authorized"), nil
}

// showSkillProblem says on the agent's page what went wrong at other people's
// servers, which is no fault of ours.
func (s *Surface) showSkillProblem(r *page.Request, a *beeos.Agent, err error) (page.Answer, error) {
	switch beeos.CodeOf(err) {
	case beeos.AgentServiceUnavailable, beeos.Unauthorized, beeos.Forbidden:
		r.SetProblem(safetext.Line(beeos.Public(err).Message, 400), http.StatusBadGateway)
	default:
		if !r.NoteProblem(err) {
			return nil, err
		}
	}
	return s.showSkills(r, a)
}

// serveClientDocument says to authorization servers who asks their people.
func (s *Surface) serveClientDocument(*page.Request) (page.Answer, error) {
	body, err := json.Marshal(s.Acts.Builtins.ClientDocument())
	return page.Writer(func(w http.ResponseWriter) error {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "public, max-age=300")
		w.Write(body) //nolint:errcheck // the reader is gone; nobody is left to tell
		return nil
	}), err
}
