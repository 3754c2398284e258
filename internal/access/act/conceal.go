package act

import (
	"context"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/sight"
	"github.com/beeos/beeos/internal/engine/sight/conceal"
	"github.com/beeos/beeos/internal/wire/schema"
)

// What nobody gets to see of calls, on any surface: arguments that the tool's schema
// names secret, and, of an agent that is set so, all that was said by others.

func (a *Acts) concealer() *conceal.Reader {
	return &conceal.Reader{Agents: a.DB.Agents, Builtins: a.DB.Builtins}
}

// concealCall takes out of a call what is not shown.
func (a *Acts) concealCall(ctx context.Context, c *sight.Call) error {
	if c.MetadataOnly {
		c.HideWords()
		return nil
	}
	secrets, err := a.callSecrets(ctx, c)
	if err != nil {
		return err
	}
	c.Request.Payload = nil // nobody needs it but for what is in c.Payload
	c.Payload.Arguments = secrets.Mask(c.Payload.Arguments)
	return a.concealer().Approvals(ctx, c.Approvals)
}

// callSecrets returns what is secret of the arguments of a call. Only those of tools
// have a schema.
func (a *Acts) callSecrets(ctx context.Context, c *sight.Call) (schema.Secrets, error) {
	if c.Payload.Tool == "" || len(c.Payload.Arguments) == 0 {
		return schema.ReadSecrets(nil), nil
	}
	return a.concealer().CallSecrets(ctx, a.sightReader(), c)
}

// restoreSecrets puts the true values back into arguments that were shown masked,
// edited and sent back: who replays a call need not know its secrets.
func (a *Acts) restoreSecrets(ctx context.Context, c *sight.Call, r *Replay) error {
	if len(r.Arguments) == 0 {
		return nil
	}
	secrets, err := a.callSecrets(ctx, c)
	if err != nil {
		return err
	}
	restored, unclear, err := secrets.Restore(r.Arguments, c.Payload.Arguments)
	switch {
	case err != nil:
		return beeos.Wrap(beeos.InvalidParam, err, "the arguments are not JSON; correct them")
	case unclear != "":
		return beeos.Errorf(beeos.InvalidParam, "it is not clear which secret %s at %s stands for, because the list has changed; write the secret itself there", schema.Mask, beeos.Shorten(unclear, 100))
	}
	r.Arguments = restored
	return nil
}
