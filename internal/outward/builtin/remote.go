package builtin

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/builtins"
)

const (
	actWithin   = 30 * time.Second // for an act whose caller sets no limit
	actGrace    = 2 * time.Second  // for an answer that took all the time it had
	offerWithin = 2 * time.Second
)

// Remote is what a process has that runs no built-in agents: acts that change
// nothing but the database are its own, and the nodes that run agents hear of
// them; the others are done by one of those nodes.
type Remote struct {
	*Supervisor
	send func(ctx context.Context, data []byte) ([]byte, error)
}

// NewRemote returns a Remote. send hands an act to a node whose supervisor does
// it with DoAct. Of the options it needs the tables, Tell, Console and Log.
func NewRemote(ctx context.Context, opt Options, send func(ctx context.Context, data []byte) ([]byte, error)) (*Remote, error) {
	rt, err := New(ctx, opt)
	return &Remote{Supervisor: rt, send: send}, err
}

// do has an act done elsewhere.
func (r *Remote) do(ctx context.Context, act actRequest) (result actResult, err error) {
	act.ID, act.Within = beeos.NewID(), actWithin
	if end, ok := ctx.Deadline(); ok {
		act.Within = min(actWithin, time.Until(end))
	}
	sealed, err := r.sealer.SealJSON(act, requestPlace)
	if err != nil {
		return result, err
	}
	// Whoever does it may use all of the time, and must still be heard.
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), act.Within+actGrace)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			cancel()
		}
	})()
	answer, err := r.send(waiting, sealed)
	if err == nil {
		err = r.sealer.OpenJSON(answer, resultPlace+act.ID, &result)
	}
	if err != nil {
		return result, &beeos.Error{
			Code: beeos.AgentServiceUnavailable, Err: err, RetryAfter: 5 * time.Second,
			Message: "no process that runs built-in agents answers; see to it that one runs (beeos serve --only worker), look whether this was done, and try again",
		}
	}
	return result, result.Problem.err()
}

// Deploy is Supervisor.Deploy on a node that runs built-in agents.
func (r *Remote) Deploy(ctx context.Context, ownerID string, d Definition, secrets map[string]skill.Secrets, dry bool) (builtins.Builtin, Outcome, error) {
	result, err := r.do(ctx, actRequest{Act: actDeploy, OwnerID: ownerID, Name: d.Name, Definition: d, Secrets: secrets, Dry: dry})
	return result.Row, result.Outcome, err
}

// Create is Supervisor.Create on a node that runs built-in agents.
func (r *Remote) Create(ctx context.Context, ownerID string, d Definition, secrets map[string]skill.Secrets) (builtins.Builtin, error) {
	result, err := r.do(ctx, actRequest{Act: actCreate, OwnerID: ownerID, Name: d.Name, Definition: d, Secrets: secrets})
	return result.Row, err
}

// Change is Supervisor.Change on a node that runs built-in agents.
func (r *Remote) Change(ctx context.Context, ownerID, id string, d Definition, secrets map[string]skill.Secrets) error {
	_, err := r.do(ctx, actRequest{Act: actChange, OwnerID: ownerID, BuiltinID: id, Name: d.Name, Definition: d, Secrets: secrets})
	return err
}

// StartConsent is Supervisor.StartConsent on a node that runs built-in agents.
func (r *Remote) StartConsent(ctx context.Context, ownerID, id, skillName string) (string, error) {
	result, err := r.do(ctx, actRequest{Act: actStartConsent, OwnerID: ownerID, BuiltinID: id, Skill: skillName})
	return result.URL, err
}

// FinishConsent is Supervisor.FinishConsent on a node that runs built-in agents.
func (r *Remote) FinishConsent(ctx context.Context, ownerID string, query url.Values) (Authorization, error) {
	result, err := r.do(ctx, actRequest{Act: actFinishConsent, OwnerID: ownerID, Query: query})
	return result.Authorization, err
}

// CheckSkills is Supervisor.CheckSkills on a node that runs built-in agents.
// While there is none, it says so, and what is known of the skills.
func (r *Remote) CheckSkills(ctx context.Context, ownerID, id string) ([]SkillState, error) {
	result, err := r.do(ctx, actRequest{Act: actCheckSkills, OwnerID: ownerID, BuiltinID: id})
	if err == nil || result.Problem != nil {
		return result.States, err
	}
	ctx = context.WithoutCancel(ctx)
	d, gone := r.Definition(ctx, ownerID, id)
	if gone != nil {
		return nil, gone
	}
	known, gone := skill.KnownTools(ctx, r.opt.Builtins, id)
	if gone != nil {
		return nil, gone
	}
	var states []SkillState
	for _, s := range d.Servers {
		state := SkillState{Server: s, Trouble: "No process that runs built-in agents answers, so the server was not asked. Look again when one runs."}
		state.Tools = presentTools(state, known, nil)
		states = append(states, state)
	}
	return states, nil
}

// Commands are those that a skill may name where built-in agents run; none
// while nobody knows.
func (r *Remote) Commands(ctx context.Context) []string {
	result, _ := r.offer(ctx)
	return result.Commands
}

// HasModel reports whether a model is configured where built-in agents run.
// While nobody knows, nobody is told that there is none.
func (r *Remote) HasModel(ctx context.Context) bool {
	result, err := r.offer(ctx)
	return err != nil || result.HasModel
}

// Models is Supervisor.Models on a node that runs built-in agents.
func (r *Remote) Models(ctx context.Context) ([]string, error) {
	result, err := r.do(ctx, actRequest{Act: actModels})
	return result.Models, err
}

func (r *Remote) offer(ctx context.Context) (actResult, error) {
	ctx, cancel := context.WithTimeout(ctx, offerWithin)
	defer cancel()
	return r.do(ctx, actRequest{Act: actOffer})
}
