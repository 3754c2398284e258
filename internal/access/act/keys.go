package act

import (
	"context"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/store/audit"
	keystore "github.com/beeos/beeos/internal/store/keys"
)

const (
	maxKeyName = 128 // characters
	maxKeyRate = 1_000_000

	// JoinTokenTTL is how long a join token works when nobody says otherwise.
	JoinTokenTTL    = time.Hour
	joinTokenMaxTTL = 7 * 24 * time.Hour
)

// Keys returns the caller's keys that are not revoked: those of one agent, or
// with no agent those of a kind, or all.
func (a *Acts) Keys(ctx context.Context, c beeos.Caller, kind beeos.KeyKind, agentID string) ([]beeos.Key, error) {
	if err := RequirePerson(c); err != nil {
		return nil, err
	}
	f := keystore.Filter{Owner: c.UserID, Kind: kind}
	if agentID != "" {
		agent, err := a.OwnAgent(ctx, c, agentID)
		if err != nil {
			return nil, err
		}
		f = keystore.Filter{Owner: agent.OwnerID, Kind: beeos.AgentKey, AgentID: agentID}
	}
	all, err := a.DB.Keys.List(ctx, f)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(k beeos.Key) bool { return !k.RevokedAt.IsZero() }), nil
}

// CreateKey makes a key of the name, rate and expiry of k and returns it with
// its secret, which is told this once. With an agent it reaches that one, else
// all that the caller has.
func (a *Acts) CreateKey(ctx context.Context, c beeos.Caller, k beeos.Key) (beeos.Key, string, error) {
	if err := RequirePerson(c); err != nil {
		return k, "", err
	}
	k.Kind, k.OwnerID = beeos.UserKey, c.UserID
	if k.AgentID != "" {
		agent, err := a.OwnAgent(ctx, c, k.AgentID)
		if err != nil {
			return k, "", err
		}
		k.Kind, k.OwnerID = beeos.AgentKey, agent.OwnerID
	}
	k.CreatedAt, k.ExpiresAt = a.Now().UTC(), k.ExpiresAt.UTC()
	if err := checkKey(c, k); err != nil {
		return k, "", err
	}
	secret, hash, prefix := auth.NewKey(k.Kind)
	k.ID, k.Prefix = beeos.NewID(), prefix
	if err := a.DB.Keys.Create(ctx, k, hash); err != nil {
		return k, "", err
	}
	a.record(ctx, c, k.OwnerID, audit.KeyCreate, k.ID, describeKey(k))
	return k, secret, nil
}

func checkKey(c beeos.Caller, k beeos.Key) error {
	switch {
	case k.Name == "":
		return beeos.Errorf(beeos.MissingParam, "give the key a name: it is how you will recognise it")
	case utf8.RuneCountInString(k.Name) > maxKeyName:
		return beeos.Errorf(beeos.InvalidParam, "name may have at most %d characters", maxKeyName)
	case !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(k.CreatedAt):
		return beeos.Errorf(beeos.InvalidParam, "expires_at lies in the past; choose a later time, or leave it out")
	}
	return checkRate(c, k.RatePerMinute)
}

func checkRate(c beeos.Caller, perMinute int) error {
	if perMinute < 0 || perMinute > maxKeyRate && c.Kind != beeos.ByOperator {
		return beeos.Errorf(beeos.InvalidParam, "rate_limit_per_minute must be from 0 (the default limit) to %d", maxKeyRate)
	}
	return nil
}

// findKey returns a key that is not revoked: one of the agent's, or with no
// agent one of the caller's own.
func (a *Acts) findKey(ctx context.Context, c beeos.Caller, agentID, id string) (beeos.Key, error) {
	keys, err := a.Keys(ctx, c, beeos.UserKey, agentID)
	if err != nil {
		return beeos.Key{}, err
	}
	i := slices.IndexFunc(keys, func(k beeos.Key) bool { return k.ID == id })
	if i < 0 {
		return beeos.Key{}, beeos.Errorf(beeos.NotFound, "there is no key %q; list the keys to see which there are", id)
	}
	return keys[i], nil
}

// LimitKey changes how many calls a minute a key that RevokeKey would find may
// make to one agent; 0 = the agent's limit or the default. It holds from the
// next call on.
func (a *Acts) LimitKey(ctx context.Context, c beeos.Caller, agentID, id string, perMinute int) (beeos.Key, error) {
	if err := checkRate(c, perMinute); err != nil {
		return beeos.Key{}, err
	}
	k, err := a.findKey(ctx, c, agentID, id)
	if err != nil {
		return k, err
	}
	if err := a.DB.Keys.SetRate(ctx, k.OwnerID, id, perMinute); err != nil {
		return k, err
	}
	k.RatePerMinute = perMinute
	a.tell(bus.Control{Kind: bus.KeyChanged, ID: id})
	detail := describeKey(k)
	detail["rate_limit"] = strconv.Itoa(perMinute)
	a.record(ctx, c, k.OwnerID, audit.KeyUpdate, id, detail)
	return k, nil
}

// RevokeKey ends a key at once: one of the agent's, or with no agent one of
// the caller's own.
func (a *Acts) RevokeKey(ctx context.Context, c beeos.Caller, agentID, id string) error {
	k, err := a.findKey(ctx, c, agentID, id)
	if err != nil {
		return err
	}
	if err := a.DB.Keys.Revoke(ctx, k.OwnerID, id); err != nil {
		return err
	}
	a.tellRevoked(id) // before anything else: until then a cached look-up lets it in
	a.record(ctx, c, k.OwnerID, audit.KeyRevoke, id, describeKey(k))
	return nil
}

func describeKey(k beeos.Key) map[string]string {
	return map[string]string{"kind": string(k.Kind), "name": k.Name, "agent": k.AgentID, "prefix": k.Prefix}
}

// CreateJoinToken makes a token with which one machine may register its public
// key as an instance of the caller's, once.
func (a *Acts) CreateJoinToken(ctx context.Context, c beeos.Caller, ttl time.Duration) (token string, expires time.Time, err error) {
	if err := RequirePerson(c); err != nil {
		return "", expires, err
	}
	if ttl < time.Second || ttl > joinTokenMaxTTL {
		return "", expires, beeos.Errorf(beeos.InvalidParam, "ttl_seconds must be from 1 to %d", joinTokenMaxTTL/time.Second)
	}
	if token, err = a.DB.Instances.CreateJoinToken(ctx, c.UserID, ttl); err != nil {
		return "", expires, err
	}
	a.record(ctx, c, c.UserID, audit.JoinTokenCreate, c.UserID, nil)
	return token, a.Now().Add(ttl).UTC(), nil
}
