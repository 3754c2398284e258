package web

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// addData is the form that adds a skill server, with what somebody has filled
// in already. Secrets go in and never come back.
type addData struct {
	Path     string
	Commands []string // that an admin allowed
	Open     bool

	Name, URL, Command string
	How                string // a way of ways
	ClientID, Issuer   string
}

// ways are how an agent can be let in by a protected server, by what the form
// calls them.
var ways = map[string]string{
	"":            "", // it is found out
	"own":         "authorization_code",
	"credentials": "client_credentials",
}

// addServer adds a skill server to a built-in agent.
func (s *Site) addServer(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	a, b, err := s.ownBuiltin(r, v)
	if err != nil {
		return err
	}
	field := func(name string) string { return strings.TrimSpace(r.PostFormValue(name)) }
	add := addData{
		Open: true, Name: field("name"), URL: field("url"), Command: field("command"), How: field("how"), ClientID: field("client_id"), Issuer: field("issuer"),
	}
	add.Name = nameOf(add.Name, add.URL)
	if add.Name == "" {
		add.Name = add.Command
	}
	err = s.putServer(r, v, b, add, skill.Secrets{ClientSecret: field("client_secret"), PrivateKey: field("private_key")})
	if message, status, ok := page.FormProblem(err); ok {
		return s.showSkills(w, r, v, status, page.View{Problem: message}, add)
	}
	if err != nil {
		return err
	}
	return page.Redirect(w, r, "/agents/"+a.ID+"/skills", "skill-added")
}

func (s *Site) putServer(r *http.Request, v *page.Visitor, b *builtins.Builtin, add addData, secrets skill.Secrets) error {
	grant, ok := ways[add.How]
	server := skill.Server{Name: add.Name, URL: add.URL, Command: add.Command}
	switch {
	case !ok:
		return beeos.Errorf(beeos.InvalidParam, "choose how the agent is let in")
	case add.URL == "" && add.Command == "":
		return beeos.Errorf(beeos.MissingParam, "give the address of the skill server")
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
	return s.Acts.ConnectSkill(r.Context(), v.Caller(), b.ID, server, secrets)
}

// removeServer takes a skill away, with all that it was given.
func (s *Site) removeServer(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	a, b, err := s.ownBuiltin(r, v)
	if err != nil {
		return err
	}
	if err := s.Acts.DisconnectSkill(r.Context(), v.Caller(), b.ID, r.PathValue("skill")); err != nil {
		return err
	}
	return page.Redirect(w, r, "/agents/"+a.ID+"/skills", "skill-removed")
}

// goData leads to where somebody has to go.
type goData struct{ Skill, Host, URL, Back string }

// authorizeSkill sends the owner to the authorization server. It is a page
// that leads there, because browsers hold a form's redirects to the
// form-action of our policy.
func (s *Site) authorizeSkill(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	a, b, err := s.ownBuiltin(r, v)
	if err != nil {
		return err
	}
	name := r.PathValue("skill")
	target, err := s.Acts.Builtins.StartConsent(r.Context(), v.User.ID, b.ID, name)
	if problem, status, ok := skillProblem(err); ok {
		return s.showSkillsOf(w, r, v, a, status, page.View{Problem: problem}, addData{})
	}
	if err != nil {
		return err
	}
	w.Header().Set("Refresh", "0; url="+target)
	d := goData{Skill: name, Host: safetext.LinkHost(target), URL: target, Back: "/agents/" + a.ID + "/skills"}
	return s.ShowPage(w, r, v, http.StatusOK, "go", page.View{Title: "Going to " + d.Host, Here: d.Back, Data: d})
}

// authorized takes the owner back from the authorization server.
func (s *Site) authorized(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	id, err := s.Acts.AuthorizeSkill(r.Context(), v.Caller(), r.URL.Query())
	if id == "" {
		return err
	}
	list, _, found := s.DB.Agents.List(r.Context(), agents.Filter{OwnerID: v.User.ID, InstanceID: id, Limit: 1})
	if found != nil || len(list) == 0 {
		return found
	}
	if problem, status, ok := skillProblem(err); ok {
		return s.showSkillsOf(w, r, v, list[0], status, page.View{Problem: problem}, addData{})
	}
	if err != nil {
		return err
	}
	return page.Redirect(w, r, "/agents/"+list[0].ID+"/skills", "skill-authorized")
}

// skillProblem is page.FormProblem for what other people's servers do, which is no
// fault of ours either.
func skillProblem(err error) (message string, status int, ok bool) {
	switch beeos.CodeOf(err) {
	case beeos.AgentServiceUnavailable, beeos.Unauthorized, beeos.Forbidden:
		return page.Sentence(safetext.Line(beeos.Public(err).Message, 400)), http.StatusBadGateway, err != nil
	}
	return page.FormProblem(err)
}

// forgetSkill drops the tokens of a skill.
func (s *Site) forgetSkill(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	a, b, err := s.ownBuiltin(r, v)
	if err != nil {
		return err
	}
	if err := s.Acts.ForgetSkill(r.Context(), v.Caller(), b.ID, r.PathValue("skill")); err != nil {
		return err
	}
	return page.Redirect(w, r, "/agents/"+a.ID+"/skills", "skill-forgotten")
}

// acceptTool lets the model see a tool as it is now. The form holds the hash
// of what was shown, which no other state of the tool has.
func (s *Site) acceptTool(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	a, b, err := s.ownBuiltin(r, v)
	if err != nil {
		return err
	}
	err = s.Acts.AcceptTool(r.Context(), v.Caller(), b.ID, r.PathValue("skill"), r.PostFormValue("hash"))
	if message, status, ok := page.FormProblem(err); ok {
		return s.showSkillsOf(w, r, v, a, status, page.View{Problem: message}, addData{})
	}
	if err != nil {
		return err
	}
	return page.Redirect(w, r, "/agents/"+a.ID+"/skills", "tool-accepted")
}

// clientDocument says to authorization servers who asks their people.
func (s *Site) clientDocument(w http.ResponseWriter, _ *http.Request, _ *page.Visitor) error {
	if s.Acts.Builtins == nil {
		return beeos.Errorf(beeos.NotFound, "built-in agents run in another process here, and so does what they say about themselves")
	}
	body, err := json.Marshal(s.Acts.Builtins.ClientDocument())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "public, max-age=300")
	w.Write(body) //nolint:errcheck // the reader is gone; nobody is left to tell
	return nil
}
