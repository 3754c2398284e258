package grants

import (
	"context"
	"database/sql"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Flow is one authorization request on its way through sign-in and consent.
type Flow struct {
	ID          string
	Binder      []byte // SHA-256 of what the browser keeps
	ClientID    string
	ClientName  string
	RedirectURI string
	State       string
	Challenge   string
	Resource    string
	Scope       string
	ExpiresAt   time.Time

	Ticket  []byte // SHA-256; empty until somebody has answered
	UserID  string
	Allowed bool
	Agents  []string
	All     bool
	Until   time.Time // of the grant; zero = until revoked
}

const flowColumns = "id, binder, client_id, client_name, redirect_uri, state, challenge, resource, scope, expires_at, ticket, user_id, allowed, agents, all_agents, grant_until"

// BeginFlow keeps a new request.
func (tb *Table) BeginFlow(ctx context.Context, t Flow) error {
	t.Ticket, t.Agents = []byte{}, []string{}
	return database.Insert(ctx, tb.db, "begin authorization", "oauth_tx", flowColumns, flowFields(&t)...)
}

// GetFlow returns a request that is still open.
func (tb *Table) GetFlow(ctx context.Context, id string, now time.Time) (Flow, error) {
	return database.Get(ctx, tb.db, "read authorization", flowGone(), flowFields, "SELECT "+flowColumns+" FROM oauth_tx WHERE id = $1 AND expires_at > $2", id, database.Micros(now))
}

// AnswerFlow keeps what a person said: Ticket, UserID, Allowed, Agents, All
// and Until of t. The same person may answer again, as a double click does;
// the last ticket is the one that counts.
func (tb *Table) AnswerFlow(ctx context.Context, t Flow, now time.Time) error {
	return database.ChangeOne(ctx, tb.db, "answer authorization", flowGone(), `UPDATE oauth_tx SET ticket = $2, user_id = $3, allowed = $4, agents = $5, all_agents = $6, grant_until = $7
		WHERE id = $1 AND expires_at > $8 AND user_id IN ('', $3)`, t.ID, t.Ticket, t.UserID, t.Allowed, listColumn(t.Agents), t.All, database.Micros(t.Until), database.Micros(now))
}

// TakeFlow ends a request whose ticket came back, and returns it. It does so
// also when another browser brings it, for nobody may have it then.
func (tb *Table) TakeFlow(ctx context.Context, id string, ticket []byte, now time.Time) (Flow, error) {
	return database.Tx(ctx, tb.db, "end authorization", func(tx *sql.Tx) (Flow, error) {
		return database.Get(ctx, tx, "delete it", flowGone(), flowFields, "DELETE FROM oauth_tx WHERE id = $1 AND ticket = $2 AND user_id <> '' AND expires_at > $3 RETURNING "+flowColumns,
			id, ticket, database.Micros(now))
	})
}

func flowGone() error {
	return beeos.Errorf(beeos.NotFound, "this request to connect an app is over or too old; start again in the app")
}

func flowFields(t *Flow) []any {
	return []any{
		&t.ID, &t.Binder, &t.ClientID, &t.ClientName, &t.RedirectURI, &t.State, &t.Challenge, &t.Resource, &t.Scope, database.Time(&t.ExpiresAt),
		&t.Ticket, &t.UserID, &t.Allowed, database.JSON(&t.Agents), &t.All, database.Time(&t.Until),
	}
}

// Code is what a client changes into tokens, once.
type Code struct {
	Hash        []byte
	FamilyID    string
	GrantID     string
	ClientID    string
	RedirectURI string
	Challenge   string
	Resource    string
	ExpiresAt   time.Time
}

// GrantOAuth writes the grant that a consent made, or changes the one that the
// client has already, and the code that leads to it. It returns the grant's
// id. The client's registration lives on until clientUntil.
func (tb *Table) GrantOAuth(ctx context.Context, g Grant, c Code, clientUntil time.Time) (string, error) {
	return database.Tx(ctx, tb.db, "grant", func(tx *sql.Tx) (id string, err error) {
		at := database.Micros(g.CreatedAt)
		if _, err := tx.ExecContext(ctx, "UPDATE oauth_grants SET live = FALSE, revoked_at = $3 WHERE user_id = $1 AND client_id = $2 AND live AND expires_at <> 0 AND expires_at <= $3",
			g.UserID, g.ClientID, at); err != nil {
			return "", err
		}
		c.GrantID, err = database.GetValue[string](ctx, tx, "write grant", `INSERT INTO oauth_grants (id, user_id, client_id, client_name, client_host, agents, all_agents, live, created_at, expires_at, used_at, revoked_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, TRUE, $8, $9, 0, 0)
			ON CONFLICT (user_id, client_id) WHERE live DO UPDATE SET client_name = excluded.client_name, client_host = excluded.client_host,
				agents = excluded.agents, all_agents = excluded.all_agents, expires_at = excluded.expires_at
			RETURNING id`, g.ID, g.UserID, g.ClientID, g.ClientName, g.ClientHost, listColumn(g.Agents), g.All, at, database.Micros(g.ExpiresAt))
		if err != nil {
			return "", err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE oauth_clients SET expires_at = $2 WHERE id = $1", g.ClientID, database.Micros(clientUntil)); err != nil {
			return "", err
		}
		return c.GrantID, database.Insert(ctx, tx, "keep code", "oauth_codes", codeColumns+", used", append(codeFields(&c), false)...)
	})
}

// RedeemOAuth uses a code up. check looks at the code and at its grant, and
// returns the chain that they become; when it fails the code is used up all
// the same. A code that was used before takes what it gave with it: spent is
// then the family that is no more.
func (tb *Table) RedeemOAuth(ctx context.Context, hash []byte, check func(Code, Grant) (Family, error)) (f Family, g Grant, spent string, err error) {
	var refused error
	err = tb.db.Tx(ctx, "redeem code", func(tx *sql.Tx) error {
		f, g, spent, refused = Family{}, Grant{}, "", nil
		c, err := database.Get(ctx, tx, "use code", sql.ErrNoRows, codeFields, "UPDATE oauth_codes SET used = TRUE WHERE hash = $1 AND NOT used RETURNING "+codeColumns, hash)
		if database.IsAbsent(err) {
			refused = database.NotFound("code")
			spent, err = endReplayed(ctx, tx, hash)
			return err
		}
		if err != nil {
			return err
		}
		g, err = getGrant(ctx, tx, "JOIN users u ON u.id = g.user_id WHERE g.id = $1 AND g.live AND u.disabled_at = 0", c.GrantID)
		if beeos.CodeOf(err) == beeos.NotFound {
			refused = err
			return nil
		}
		if err != nil {
			return err
		}
		if f, refused = check(c, g); refused != nil {
			return nil
		}
		return insertFamily(ctx, tx, f)
	})
	if err != nil {
		return f, g, "", err
	}
	return f, g, spent, refused
}

// endReplayed ends what a code gave that is presented again.
func endReplayed(ctx context.Context, tx *sql.Tx, hash []byte) (family string, err error) {
	family, err = database.GetValue[string](ctx, tx, "read code", "SELECT family_id FROM oauth_codes WHERE hash = $1", hash)
	if family == "" {
		return "", err
	}
	_, err = tx.ExecContext(ctx, "DELETE FROM oauth_families WHERE id = $1", family)
	return family, err
}

const codeColumns = "hash, family_id, grant_id, client_id, redirect_uri, challenge, resource, expires_at"

func codeFields(c *Code) []any {
	return []any{&c.Hash, &c.FamilyID, &c.GrantID, &c.ClientID, &c.RedirectURI, &c.Challenge, &c.Resource, database.Time(&c.ExpiresAt)}
}

// listColumn is how a list of ids stands in a table.
func listColumn(ids []string) any {
	if ids == nil {
		ids = []string{}
	}
	return database.JSON(&ids)
}
