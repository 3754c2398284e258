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

// actName is one of the acts that only a node that runs built-in agents can do:
// it alone knows the models, the commands and the way to the skill servers.
type actName string

const (
	actDeploy        actName = "deploy"
	actCreate        actName = "create"
	actChange        actName = "change"
	actStartConsent  actName = "start_consent"
	actFinishConsent actName = "finish_consent"
	actCheckSkills   actName = "check_skills"
	actOffer         actName = "offer"
	actModels        actName = "models"
)

// actRequest is an act on its way to such a node, sealed: it may hold the
// secrets of skills, and whoever can write to the bus is not yet an owner.
type actRequest struct {
	ID     string        `json:"id"` // which the result is sealed for
	Act    actName       `json:"act"`
	Within time.Duration `json:"within"` // how long the owner waits

	OwnerID    string                   `json:"owner,omitempty"`
	BuiltinID  string                   `json:"builtin,omitempty"`
	Skill      string                   `json:"skill,omitempty"`
	Name       string                   `json:"name,omitempty"` // of the definition
	Definition Definition               `json:"definition,omitzero"`
	Secrets    map[string]skill.Secrets `json:"secrets,omitempty"`
	Dry        bool                     `json:"dry,omitempty"`
	Query      url.Values               `json:"query,omitempty"`
}

// actResult is what came of it.
type actResult struct {
	Row           builtins.Builtin `json:"row,omitzero"`
	Outcome       Outcome          `json:"outcome,omitempty"`
	URL           string           `json:"url,omitempty"`
	Authorization Authorization    `json:"authorization,omitzero"`
	States        []SkillState     `json:"states,omitempty"`
	Commands      []string         `json:"commands,omitempty"`
	Models        []string         `json:"models,omitempty"`
	HasModel      bool             `json:"hasModel,omitempty"`
	Problem       *actProblem      `json:"problem,omitempty"`
}

// actProblem is an error that goes to another node.
type actProblem struct {
	Code       beeos.Code    `json:"code"`
	Message    string        `json:"message"`
	Cause      string        `json:"cause,omitempty"` // for the log of the node that asked
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
}

func newProblem(err error) *actProblem {
	if err == nil {
		return nil
	}
	public := beeos.Public(err)
	p := &actProblem{Code: public.Code, Message: public.Message, RetryAfter: public.RetryAfter}
	if public.Err != nil {
		p.Cause = public.Err.Error()
	}
	return p
}

func (p *actProblem) err() error {
	if p == nil {
		return nil
	}
	e := &beeos.Error{Code: p.Code, Message: p.Message, RetryAfter: p.RetryAfter}
	if p.Cause != "" {
		e.Err = errors.New(p.Cause)
	}
	return e
}

const (
	requestPlace = "act"
	resultPlace  = "result of act "
)

// DoAct does what another node asked for and returns the answer for it; nil
// when it was not one of ours that asked.
func (rt *Supervisor) DoAct(ctx context.Context, sealed []byte) []byte {
	var r actRequest
	if err := rt.sealer.OpenJSON(sealed, requestPlace, &r); err != nil {
		rt.opt.Log.Warn("an act on the bus is not from a node with this database", "err", err)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, min(r.Within, actWithin))
	defer cancel()
	r.Definition.Name = r.Name
	answer, err := rt.sealer.SealJSON(rt.doAct(ctx, r), resultPlace+r.ID)
	if err != nil {
		rt.opt.Log.Error("the result of an act cannot be sent", "act", r.Act, "err", err)
	}
	return answer
}

func (rt *Supervisor) doAct(ctx context.Context, r actRequest) (result actResult) {
	var err error
	switch r.Act {
	case actDeploy:
		result.Row, result.Outcome, err = rt.Deploy(ctx, r.OwnerID, r.Definition, r.Secrets, r.Dry)
	case actCreate:
		result.Row, err = rt.Create(ctx, r.OwnerID, r.Definition, r.Secrets)
	case actChange:
		err = rt.Change(ctx, r.OwnerID, r.BuiltinID, r.Definition, r.Secrets)
	case actStartConsent:
		result.URL, err = rt.StartConsent(ctx, r.OwnerID, r.BuiltinID, r.Skill)
	case actFinishConsent:
		result.Authorization, err = rt.FinishConsent(ctx, r.OwnerID, r.Query)
	case actCheckSkills:
		result.States, err = rt.CheckSkills(ctx, r.OwnerID, r.BuiltinID)
	case actOffer:
		result.Commands, result.HasModel = rt.Commands(ctx), rt.HasModel(ctx)
	case actModels:
		result.Models, err = rt.Models(ctx)
	default:
		err = beeos.Errorf(beeos.Conflict, "the process that runs built-in agents is older than this one; update it")
	}
	result.Problem = newProblem(err)
	return result
}
