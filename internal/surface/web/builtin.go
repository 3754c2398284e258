package web

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/surface/web/page"
)

// builtinData is what the owner of a built-in agent says about it.
type builtinData struct {
	ID         string // the agent's
	Definition builtin.Definition
	Minutes    int
	Stopped    bool
	HasModel   bool
	Elsewhere  bool // another process runs it, and only that one can change it
}

// newData is the form of an agent that is not there yet.
type newData struct {
	Definition builtin.Definition
	Skill, URL string
	HasModel   bool
	Elsewhere  bool
}

// errElsewhere is for forms that reach a process without built-in agents.
var errElsewhere = beeos.Errorf(beeos.Conflict, "built-in agents run in another process here; run the worker with the console, or change them by REST")

// builtin returns the row of a built-in agent; nil = the agent is not one.
func (s *Site) builtin(ctx context.Context, a *beeos.Agent) (*store.Builtin, error) {
	b, err := s.DB.Builtin(ctx, a.OwnerID, a.InstanceID)
	if beeos.CodeOf(err) == beeos.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &b, nil
}

// ownBuiltin is owned for what only built-in agents have.
func (s *Site) ownBuiltin(r *http.Request, v *page.Visitor) (*beeos.Agent, *store.Builtin, error) {
	a, err := s.owned(r, v)
	if err != nil {
		return nil, nil, err
	}
	b, err := s.builtin(r.Context(), a)
	switch {
	case err != nil:
		return nil, nil, err
	case b == nil:
		return nil, nil, beeos.Errorf(beeos.NotFound, "this agent is a program of yours; change it in its code")
	case s.Runtime == nil:
		return nil, nil, errElsewhere
	}
	return a, b, nil
}

func (s *Site) builtinData(ctx context.Context, a *beeos.Agent, b *store.Builtin) (*builtinData, error) {
	d := &builtinData{ID: a.ID, Stopped: b.Stopped, Elsewhere: s.Runtime == nil}
	if s.Runtime == nil {
		return d, nil
	}
	var err error
	d.HasModel = s.Runtime.HasModel()
	d.Definition, err = s.Runtime.Definition(ctx, a.OwnerID, b.ID)
	d.Minutes = int(d.Definition.Limits.Wall / time.Minute)
	return d, err
}

func (s *Site) newAgent(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	return s.showNew(w, r, v, http.StatusOK, newData{}, "")
}

func (s *Site) showNew(w http.ResponseWriter, r *http.Request, v *page.Visitor, status int, d newData, problem string) error {
	d.Elsewhere = s.Runtime == nil
	d.HasModel = s.Runtime != nil && s.Runtime.HasModel()
	return s.ShowPage(w, r, v, status, "new", page.View{Title: "New agent", Room: "agents", Here: "/agents/new", Problem: problem, Data: d})
}

// createAgent makes a built-in agent and leads to its page, where it can be
// seen to connect.
func (s *Site) createAgent(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	if s.Runtime == nil {
		return errElsewhere
	}
	d := newData{Skill: strings.TrimSpace(r.FormValue("skill")), URL: strings.TrimSpace(r.FormValue("url"))}
	readDefinition(r, &d.Definition)
	d.Definition.Name = strings.TrimSpace(r.FormValue("name"))
	if d.URL != "" {
		d.Definition.Servers = []skill.Server{{Name: nameOf(d.Skill, d.URL), URL: d.URL}}
	}
	err := checkPrompt(d.Definition)
	if err == nil {
		_, err = s.Runtime.Create(r.Context(), v.User.ID, d.Definition, nil)
	}
	if message, status, ok := page.FormProblem(err); ok {
		return s.showNew(w, r, v, status, d, message)
	}
	if err != nil {
		return err
	}
	a, err := s.DB.AgentByName(r.Context(), v.User.ID, d.Definition.Name)
	if err != nil {
		return err
	}
	s.audit(r.Context(), v, "agent.create", a.ID, map[string]string{"name": a.Name, "kind": "built in"})
	next := "/agents/" + a.ID
	if d.URL != "" {
		next += "/skills"
	}
	return page.Redirect(w, r, next, "created")
}

// readDefinition takes what a person can say of any built-in agent.
func readDefinition(r *http.Request, d *builtin.Definition) {
	d.Description = strings.TrimSpace(r.FormValue("description"))
	d.Model = strings.TrimSpace(r.FormValue("model"))
	d.Prompt = strings.ReplaceAll(strings.TrimSpace(r.FormValue("prompt")), "\r\n", "\n")
}

func checkPrompt(d builtin.Definition) error {
	switch {
	case d.Name == "":
		return beeos.Errorf(beeos.MissingParam, "give the agent a name")
	case d.Prompt == "":
		return beeos.Errorf(beeos.MissingParam, "write a prompt: it says what the agent is for and how it should answer")
	}
	return nil
}

// nameOf is a name for a skill server: the one that was given, or the part of
// its host by which people know it.
func nameOf(given, address string) string {
	if given != "" {
		return given
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	labels := strings.Split(strings.ToLower(u.Hostname()), ".")
	for len(labels) > 1 && (labels[0] == "mcp" || labels[0] == "www" || labels[0] == "api") {
		labels = labels[1:]
	}
	return labels[0]
}

// changeBuiltin takes the form of the agent's page.
func (s *Site) changeBuiltin(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	a, b, err := s.ownBuiltin(r, v)
	if err != nil {
		return err
	}
	d, err := s.Runtime.Definition(r.Context(), v.User.ID, b.ID)
	if err != nil {
		return err
	}
	readDefinition(r, &d)
	err = checkPrompt(d)
	if err == nil {
		err = readLimits(r, &d.Limits)
	}
	if err == nil {
		err = s.Runtime.Change(r.Context(), v.User.ID, b.ID, d, nil)
	}
	if message, status, ok := page.FormProblem(err); ok {
		return s.showAgent(w, r, v, status, page.View{Problem: message}, fresh{})
	}
	if err != nil {
		return err
	}
	s.audit(r.Context(), v, "agent.update", a.ID, map[string]string{"model": d.Model, "prompt": strconv.Itoa(len(d.Prompt)) + " bytes"})
	return page.Redirect(w, r, "/agents/"+a.ID, "agent-changed")
}

// readLimits takes the limits of one answer; an empty field is the default.
func readLimits(r *http.Request, l *builtin.Limits) error {
	minutes := 0
	for _, f := range []struct {
		name string
		into *int
		most int
	}{{"turns", &l.Turns, 1000}, {"calls", &l.Calls, 10_000}, {"tokens", &l.Tokens, 100_000_000}, {"wall", &minutes, 55}} {
		*f.into = 0
		text := strings.TrimSpace(r.FormValue(f.name))
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > f.most {
			return beeos.Errorf(beeos.InvalidParam, "a limit is a number from 1 to %d, or empty for the default", f.most)
		}
		*f.into = n
	}
	l.Wall = time.Duration(minutes) * time.Minute
	return nil
}

// setStopped stops a built-in agent, or starts it.
func (s *Site) setStopped(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	a, b, err := s.ownBuiltin(r, v)
	if err != nil {
		return err
	}
	stop, action, did := r.FormValue("stopped") == "true", "agent.start", "agent-started"
	if stop {
		action, did = "agent.stop", "agent-stopped"
	}
	if err := s.Runtime.SetStopped(r.Context(), v.User.ID, b.ID, stop); err != nil {
		return err
	}
	s.audit(r.Context(), v, action, a.ID, map[string]string{"name": a.Name})
	return page.Redirect(w, r, "/agents/"+a.ID, did)
}

// deletePage asks first: what goes does not come back.
func (s *Site) deletePage(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	a, b, err := s.ownBuiltin(r, v)
	if err != nil {
		return err
	}
	row := s.agentRow(r.Context(), a, b)
	return s.ShowPage(w, r, v, http.StatusOK, "delete", page.View{Title: "Delete " + row.Title + "?", Room: "agents", Data: row})
}

func (s *Site) deleteAgent(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	a, b, err := s.ownBuiltin(r, v)
	if err != nil {
		return err
	}
	if err := s.Runtime.Delete(r.Context(), v.User.ID, b.ID); err != nil {
		return err
	}
	if err := s.DB.DeleteAgent(r.Context(), a.ID); err != nil {
		return err
	}
	s.audit(r.Context(), v, "agent.delete", a.ID, map[string]string{"name": a.Name})
	if s.Revoked != nil {
		s.Revoked(a.ID) // its keys, by the agent's id
	}
	if s.Changed != nil {
		s.Changed(a.ID)
	}
	return page.Redirect(w, r, "/agents", "agent-deleted")
}
