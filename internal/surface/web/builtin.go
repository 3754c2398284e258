package web

import (
	"context"
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
}

// newData is the form of an agent that is not there yet.
type newData struct {
	Definition builtin.Definition
	Skill, URL string
	HasModel   bool
}

// findBuiltin returns the row of a built-in agent; nil = the agent is not one.
func (s *Surface) findBuiltin(ctx context.Context, a *beeos.Agent) (*builtins.Builtin, error) {
	b, ok, err := s.Acts.BuiltinOf(ctx, a)
	if !ok {
		return nil, err
	}
	return &b, nil
}

// ownBuiltin is a built-in agent of the visitor's.
type ownBuiltin struct {
	*builtins.Builtin
	agent *beeos.Agent
}

// findOwnBuiltin is findOwnAgent for what only built-in agents have.
func (s *Surface) findOwnBuiltin(r *page.Request) (own ownBuiltin, err error) {
	if own.agent, err = s.findOwnAgent(r); err != nil {
		return own, err
	}
	own.Builtin, err = s.findBuiltin(r.Context(), own.agent)
	switch {
	case err != nil:
		return own, err
	case own.Builtin == nil:
		return own, beeos.Errorf(beeos.NotFound, "this agent is a program of yours; change it in its code")
	}
	return own, s.Acts.CheckBuiltin(r.Context(), r.Caller(), own.ID)
}

// changeBuiltin is an action that changes a built-in agent and then shows the
// page below the agent's own, with a notice.
func (s *Surface) changeBuiltin(below, notice string, change func(r *page.Request, id string) error) page.Action {
	return page.With(s.findOwnBuiltin, func(r *page.Request, own ownBuiltin) (page.Answer, error) {
		return page.Redirect("/agents/"+own.agent.ID+below, notice), change(r, own.ID)
	})
}

func (s *Surface) loadBuiltin(ctx context.Context, a *beeos.Agent, b *builtins.Builtin) (*builtinData, error) {
	d := &builtinData{ID: a.ID, Stopped: b.Stopped}
	var err error
	d.HasModel = s.Acts.Builtins.HasModel(ctx)
	d.Definition, err = s.Acts.Builtins.Definition(ctx, a.OwnerID, b.ID)
	d.Minutes = int(d.Definition.Limits.Wall / time.Minute)
	return d, err
}

// showNewAgent shows the form, with what somebody has filled in already.
func (s *Surface) showNewAgent(r *page.Request) (page.Answer, error) {
	d := readNewAgent(r)
	d.HasModel = s.Acts.Builtins.HasModel(r.Context())
	return page.View{Page: "new_agent", Title: "New agent", Room: "agents", Here: "/agents/new", Data: d}, nil
}

func readNewAgent(r *page.Request) (d newData) {
	d.Skill, d.URL = readField(r, "skill"), readField(r, "url")
	d.Definition.Name = readField(r, "name")
	readDefinition(r, &d.Definition)
	return d
}

// readField returns a field of a form that was sent, without the blanks around
// it.
func readField(r *page.Request, field string) string {
	return strings.TrimSpace(r.PostFormValue(field))
}

// createAgent makes a built-in agent and leads to its page, where it can be
// seen to connect.
func (s *Surface) createAgent(r *page.Request) (page.Answer, error) {
	d := readNewAgent(r)
	if err := checkPrompt(d.Definition); err != nil {
		return nil, err
	}
	below := ""
	if d.URL != "" {
		d.Definition.Servers, below = []skill.Server{{Name: nameServer(d.Skill, d.URL), URL: d.URL}}, "/skills"
	}
	a, err := s.Acts.CreateBuiltin(r.Context(), r.Caller(), d.Definition)
	if err != nil {
		return nil, err
	}
	return page.Redirect("/agents/"+a.ID+below, "created"), nil
}

// readDefinition takes what a person can say of any built-in agent.
func readDefinition(r *page.Request, d *builtin.Definition) {
	d.Description, d.Model = readField(r, "description"), readField(r, "model")
	d.Prompt = strings.ReplaceAll(readField(r, "prompt"), "\r\n", "\n")
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

// nameServer returns a name for a skill server: the one that was given, or the
// part of its host by which people know it.
func nameServer(given, address string) string {
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

// changeDefinition takes the form of the agent's page.
func (s *Surface) changeDefinition(r *page.Request, id string) error {
	return s.Acts.ChangeBuiltin(r.Context(), r.Caller(), id, func(d *builtin.Definition) error {
		readDefinition(r, d)
		if err := checkPrompt(*d); err != nil {
			return err
		}
		return readLimits(r, &d.Limits)
	})
}

// readLimits takes the limits of one answer; an empty field is the default.
func readLimits(r *page.Request, l *answering.Limits) error {
	minutes := 0
	for _, f := range []struct {
		name string
		into *int
		most int
	}{{"turns", &l.Turns, 1000}, {"calls", &l.Calls, 10_000}, {"tokens", &l.Tokens, 100_000_000}, {"wall", &minutes, 55}} {
		*f.into = 0
		text := readField(r, f.name)
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
func (s *Surface) setStopped(r *page.Request) (page.Answer, error) {
	do, did := s.Acts.StartBuiltin, "agent-started"
	if r.FormValue("stopped") == "true" {
		do, did = s.Acts.StopBuiltin, "agent-stopped"
	}
	return s.changeBuiltin("/settings", did, func(r *page.Request, id string) error { return do(r.Context(), r.Caller(), id) })(r)
}
