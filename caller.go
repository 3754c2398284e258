package beeos

import (
	"slices"
	"time"
)

// CredentialKind is how a caller proved who it is. Every switch over kinds
// refuses the ones that it does not name.
type CredentialKind string

const (
	ByOAuth    CredentialKind = "oauth"
	ByUserKey  CredentialKind = "user_key"  // oag_
	ByAgentKey CredentialKind = "agent_key" // bak_
	BySession  CredentialKind = "session"   // a person in the console
	ByOperator CredentialKind = "operator"  // whoever works on the database itself, with no account
)

// Caller is who a request comes from, taken from a checked credential and
// from nothing else.
type Caller struct {
	Kind          CredentialKind
	UserID        string
	CredentialID  string   // key or grant id: rate limits and idempotency hang on it
	AgentID       string   // ByAgentKey: the one agent it reaches
	AgentIDs      []string // ByOAuth: the agents granted at consent
	AllAgents     bool     // ByOAuth: all of the user's were, also later ones
	RatePerMinute int      // 0 = the agent's or the default
	Name          string   // for logs and the live call line
}

// IsPerson reports whether the caller is a person, or a program that has all
// of a person's rights.
func (c Caller) IsPerson() bool { return c.Kind == ByUserKey || c.Kind == BySession }

// IsApp reports whether the caller is an app that a person has let at some of
// their agents, or at all.
func (c Caller) IsApp() bool { return c.Kind == ByOAuth }

// IsAgentKey reports whether the caller has the key of one agent, and no more.
func (c Caller) IsAgentKey() bool { return c.Kind == ByAgentKey }

// Principal is whose channels these are: the user, or the agent key. A caller
// of an unknown kind has none.
func (c Caller) Principal() string {
	switch {
	case c.IsPerson(), c.IsApp():
		return "user:" + c.UserID
	case c.IsAgentKey():
		return "key:" + c.CredentialID
	}
	return "unknown:" + c.CredentialID
}

// Instrument is the key or the app with which the caller acts; empty = a person
// who is signed in, whose credentials come and go.
func (c Caller) Instrument() string {
	if c.Kind == BySession {
		return ""
	}
	return c.CredentialID
}

// MayReach reports whether the caller may call the agent at all.
func (c Caller) MayReach(a *Agent) bool {
	switch {
	case c.IsPerson():
		return a.OwnerID == c.UserID || a.Visibility != VisiblePrivate
	case c.IsApp():
		return a.OwnerID == c.UserID && (c.AllAgents || slices.Contains(c.AgentIDs, a.ID))
	case c.IsAgentKey():
		return c.AgentID == a.ID
	}
	return false
}

// KeyKind tells the two kinds of API keys apart.
type KeyKind string

const (
	UserKey  KeyKind = "user"  // oag_: everything its user owns
	AgentKey KeyKind = "agent" // bak_: one agent
)

// Prefixes of API keys, and how many active ones an agent may have.
const (
	UserKeyPrefix   = "oag_"
	AgentKeyPrefix  = "bak_"
	MaxKeysPerAgent = 3
)

// Key is an API key without its secret: only a hash of that is kept.
type Key struct {
	ID            string
	Kind          KeyKind
	OwnerID       string
	AgentID       string // AgentKey only
	Name          string
	Prefix        string // the first 12 characters, to recognise it by
	RatePerMinute int    // 0 = default
	ExpiresAt     time.Time
	RevokedAt     time.Time
	LastUsedAt    time.Time
	CreatedAt     time.Time
}
