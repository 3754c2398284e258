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
	answering "github.com/beeos/beeos/internal/outward/builtin/answer"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/builtins"
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

// builtin returns the row of a built-in agent; nil = the agent is not one.
func (s *Site) builtin(ctx context.Context, a *beeos.Agent) (*builtins.Builtin, error) {
	b, ok, err := s.Acts.BuiltinOf(ctx, a)
	if !ok {
		return nil, err
	}
	return &b, nil
}

// ownBuiltin is owned for what only built-in agents have.
func (s *Site) ownBuiltin(r *http.Request, v *page.Visitor) (*beeos.Agent, *builtins.Builtin, error) {
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
	}
	return a, b, s.Acts.CheckBuiltin(r.Context(), v.Caller(), b.ID)
}

func (s *Site) builtinData(ctx context.Context, a *beeos.Agent, b *builtins.Builtin) (*builtinData, error) {
	d := &builtinData{ID: a.ID, Stopped: b.Stopped, Elsewhere: s.Acts.Builtins == nil}
	if s.Acts.Builtins == nil {
		return d, nil
	}
	var err error
	d.HasModel = s.Acts.Builtins.HasModel()
	d.Definition, err = s.Acts.Builtins.Definition(ctx, a.OwnerID, b.ID)
	d.Minutes = int(d.Definition.Limits.Wall / time.Minute)
	return d, err
}

func (s *Site) newAgent(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	return s.showNew(w, r, v, http.StatusOK, newData{}, "")
}

func (s *Site) showNew(w http.ResponseWriter, r *http.Request, v *page.Visitor, status int, d newData, problem string) error {
	d.Elsewhere = s.Acts.Builtins == nil
	d.HasModel = s.Acts.Builtins != nil && s.Acts.Builtins.HasModel()
	return s.ShowPage(w, r, v, status, "new", page.View{Title: "New agent", Room: "agents", Here: "/agents/new", Problem: problem, Data: d})
}

// createAgent makes a built-in agent and leads to its page, where it can be
// seen to connect.
func (s *Site) createAgent(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	d := newData{Skill: strings.TrimSpace(r.FormValue("skill")), URL: strings.TrimSpace(r.FormValue("url"))}
	readDefinition(r, &d.Definition)
	d.Definition.Name = strings.TrimSpace(r.FormValue("name"))
	if d.URL != "" {
		d.Definition.Servers = []skill.Server{{Name: nameOf(d.Skill, d.URL), URL: d.URL}}
	}
	err := checkPrompt(d.Definition)
	var a *beeos.Agent
	if err == nil {
		a, err = s.Acts.CreateBuiltin(r.Context(), v.Caller(), d.Definition)
	}
	if message, status, ok := page.FormProblem(err); ok {
		return s.showNew(w, r, v, status, d, message)
	}
	if err != nil {
		return err
	}
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
	err = s.Acts.ChangeBuiltin(r.Context(), v.Caller(), b.ID, func(d *builtin.Definition) error {
		readDefinition(r, d)
		if err := checkPrompt(*d); err != nil {
			return err
		}
		return readLimits(r, &d.Limits)
	})
	if message, status, ok := page.FormProblem(err); ok {
		return s.showAgent(w, r, v, status, page.View{Problem: message}, fresh{})
	}
	if err != nil {
		return err
	}
	return page.Redirect(w, r, "/agents/"+a.ID, "agent-changed")
}

// readLimits takes the limits of one answer; an empty field is the default.
func readLimits(r *http.Request, l *answering.Limits) error {
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
	do, did := s.Acts.StartBuiltin, "agent-started"
	if r.FormValue("stopped") == "true" {
		do, did = s.Acts.StopBuiltin, "agent-stopped"
	}
	if err := do(r.Context(), v.Caller(), b.ID); err != nil {
		return err
	}
	return page.Redirect(w, r, "/agents/"+a.ID, did)
}
