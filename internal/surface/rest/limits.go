package rest

import (
	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/surface/rest/route"
)

// limitsOfAgent is how often each credential may call an agent. A key of its
// owner's that has a limit of its own goes by that.
type limitsOfAgent struct {
	RatePerMinute int `json:"rate_limit_per_minute"` // 0 = the server's default
}

func (s *Surface) getLimits(_ *route.Request, a *beeos.Agent) (any, error) {
	return limitsOfAgent{a.RateLimit}, nil
}

func (s *Surface) patchLimits(r *route.Request, a *beeos.Agent) (any, error) {
	perMinute, err := readRate(r)
	if err != nil {
		return nil, err
	}
	a, err = s.opt.Acts.UpdateAgent(r.Context(), r.Caller, a.ID, agents.Patch{RateLimit: &perMinute})
	if err != nil {
		return nil, err
	}
	return limitsOfAgent{a.RateLimit}, nil
}

// readRate reads a body that has nothing but a limit.
func readRate(r *route.Request) (int, error) {
	var perMinute *int
	if err := r.ReadSettings(route.Strict, route.Shape{"rate_limit_per_minute": &perMinute}); err != nil {
		return 0, err
	}
	if perMinute == nil {
		return 0, beeos.Errorf(beeos.MissingParam, "rate_limit_per_minute is required; 0 is the server's default")
	}
	return *perMinute, nil
}
