package beeos_test

import (
	"testing"

	"github.com/beeos/beeos"
)

// TestCallerOfUnknownKindMayNothing: a kind of credential that was forgotten
// somewhere is refused there, whatever else the caller claims to be.
func TestCallerOfUnknownKindMayNothing(t *testing.T) {
	for _, tt := range []struct {
		kind                        beeos.CredentialKind
		person, app, agentKey       bool
		principal                   string
		own, granted, another, open bool // agents that it may reach
	}{
		{kind: beeos.ByUserKey, person: true, principal: "user:u", own: true, granted: true, open: true},
		{kind: beeos.BySession, person: true, principal: "user:u", own: true, granted: true, open: true},
		{kind: beeos.ByOAuth, app: true, principal: "user:u", granted: true},
		{kind: beeos.ByAgentKey, agentKey: true, principal: "key:c", another: true},
		{kind: "", principal: "unknown:c"},
		{kind: "team_key", principal: "unknown:c"},
	} {
		t.Run(string(tt.kind), func(t *testing.T) {
			c := beeos.Caller{Kind: tt.kind, UserID: "u", CredentialID: "c", AgentID: "another", AgentIDs: []string{"granted"}}
			if c.IsPerson() != tt.person || c.IsApp() != tt.app || c.IsAgentKey() != tt.agentKey || c.Principal() != tt.principal {
				t.Errorf("person %v, app %v, agent key %v, principal %s", c.IsPerson(), c.IsApp(), c.IsAgentKey(), c.Principal())
			}
			for _, a := range []struct {
				beeos.Agent
				want bool
			}{
				{beeos.Agent{ID: "own", OwnerID: "u", Visibility: beeos.VisiblePrivate}, tt.own},
				{beeos.Agent{ID: "granted", OwnerID: "u", Visibility: beeos.VisiblePrivate}, tt.granted},
				{beeos.Agent{ID: "another", OwnerID: "v", Visibility: beeos.VisiblePrivate}, tt.another},
				{beeos.Agent{ID: "open", OwnerID: "v", Visibility: beeos.VisiblePublic}, tt.open},
			} {
				if got := c.MayReach(&a.Agent); got != a.want {
					t.Errorf("reaches %s: %v", a.ID, got)
				}
			}
		})
	}
}
