package act

import (
	"context"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/builtins"
)

// operator is how the audit trail names whoever works on the server itself.
const operator = "operator"

// OperatorFor is whoever works on the database itself, with no account, when
// it is about things of one user's; "" = of nobody in particular.
func OperatorFor(userID string) beeos.Caller {
	return beeos.Caller{Kind: beeos.ByOperator, UserID: userID, Name: operator}
}

// RequirePerson refuses whoever does not act as a person with all that is
// theirs: the key of one agent, an app, and kinds that nobody has thought of.
func RequirePerson(c beeos.Caller) error {
	switch c.Kind {
	case beeos.ByUserKey, beeos.BySession, beeos.ByOperator:
		return nil
	case beeos.ByAgentKey:
		return beeos.Errorf(beeos.Unauthorized, "an agent key (bak_) only invokes its own agent; use a user key (oag_) here")
	}
	return beeos.Errorf(beeos.Unauthorized, "this credential only reaches agents; use a user key (oag_), or sign in")
}

// requireAdmin refuses whoever may not manage users.
func (a *Acts) requireAdmin(ctx context.Context, c beeos.Caller) error {
	if err := RequirePerson(c); err != nil || c.Kind == beeos.ByOperator {
		return err
	}
	u, err := a.DB.People.GetUser(ctx, c.UserID)
	if err != nil && !isAbsent(err) {
		return err
	}
	if err != nil || !u.Admin || !u.DisabledAt.IsZero() {
		return beeos.Errorf(beeos.Forbidden, "this needs an admin; ask one")
	}
	return nil
}

// owns reports whether what belongs to a user is the caller's to change.
func owns(c beeos.Caller, ownerID string) bool {
	return c.Kind == beeos.ByOperator || c.UserID != "" && c.UserID == ownerID
}

// OwnAgent returns an agent that is the caller's own. Of others it tells
// callers of an agent that it is not theirs, and everybody else nothing.
func (a *Acts) OwnAgent(ctx context.Context, c beeos.Caller, id string) (*beeos.Agent, error) {
	if err := RequirePerson(c); err != nil {
		return nil, err
	}
	agent, err := a.DB.Agents.Get(ctx, id)
	switch {
	case err != nil && beeos.CodeOf(err) != beeos.AgentNotFound:
		return nil, err
	case err == nil && owns(c, agent.OwnerID):
		return agent, nil
	case err == nil && c.MayReach(agent):
		return nil, beeos.Errorf(beeos.Forbidden, "only the owner of an agent may do this")
	}
	return nil, beeos.Errorf(beeos.AgentNotFound, "you have no agent %q; list your agents to see which you have", id)
}

// OwnInstance returns an instance of the caller's that is not revoked.
func (a *Acts) OwnInstance(ctx context.Context, c beeos.Caller, id string) (beeos.Instance, error) {
	if err := RequirePerson(c); err != nil {
		return beeos.Instance{}, err
	}
	i, err := a.DB.Instances.Get(ctx, id)
	if err != nil && !isAbsent(err) {
		return i, err
	}
	if err != nil || !owns(c, i.OwnerID) || !i.RevokedAt.IsZero() {
		return i, beeos.Errorf(beeos.NotFound, "you have no instance %q; list your instances to see which you have", id)
	}
	return i, nil
}

// BuiltinOf returns the built-in agent that an agent is, if it is one.
func (a *Acts) BuiltinOf(ctx context.Context, agent *beeos.Agent) (row builtins.Builtin, ok bool, err error) {
	row, err = a.DB.Builtins.Get(ctx, agent.OwnerID, agent.InstanceID)
	if isAbsent(err) {
		return row, false, nil
	}
	return row, err == nil, err
}
