package app

import (
	"context"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/store/grants"
)

// Grant is what a person allowed an app.
type Grant struct {
	ID        string    `json:"id"`
	User      string    `json:"user"` // e-mail address
	Client    string    `json:"client"`
	Host      string    `json:"host,omitempty"`
	Agents    []string  `json:"agents"` // names; ids of agents that are gone
	All       bool      `json:"all_agents"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	UsedAt    time.Time `json:"used_at,omitzero"`
}

// Grants lists what is allowed now, by everybody or by one person.
func (d *Directory) Grants(ctx context.Context, email string) ([]Grant, error) {
	id := ""
	if email != "" {
		u, err := d.user(ctx, email)
		if err != nil {
			return nil, err
		}
		id = u.ID
	}
	rows, err := d.db.Grants.ListGrants(ctx, id)
	if err != nil {
		return nil, err
	}
	list := []Grant{}
	for _, g := range rows {
		if !g.RevokedAt.IsZero() || !g.ExpiresAt.IsZero() && time.Now().After(g.ExpiresAt) {
			continue
		}
		view, err := d.viewGrant(ctx, g)
		if err != nil {
			return nil, err
		}
		list = append(list, view)
	}
	return list, nil
}

func (d *Directory) viewGrant(ctx context.Context, g grants.Grant) (Grant, error) {
	u, err := d.db.People.GetUser(ctx, g.UserID)
	if err != nil {
		return Grant{}, err
	}
	agents := []string{}
	for _, id := range g.Agents {
		a, err := d.db.Agents.Get(ctx, id)
		switch {
		case err == nil:
			agents = append(agents, a.Name)
		case beeos.CodeOf(err) == beeos.AgentNotFound:
			agents = append(agents, id)
		default:
			return Grant{}, err
		}
	}
	return Grant{
		ID: g.ID, User: u.Email, Client: g.ClientName, Host: g.ClientHost, Agents: agents, All: g.All,
		CreatedAt: g.CreatedAt, ExpiresAt: g.ExpiresAt, UsedAt: g.UsedAt,
	}, nil
}

// RevokeGrant ends a grant, and with it the app's tokens.
func (d *Directory) RevokeGrant(ctx context.Context, id string) error {
	err := d.acts.RevokeGrant(ctx, act.OperatorFor(""), id)
	if beeos.CodeOf(err) == beeos.NotFound {
		return beeos.Errorf(beeos.NotFound, "there is no such grant; see which there are with: beeos grants list")
	}
	return err
}

// RotateKey makes a new key that tokens are signed with.
func (d *Directory) RotateKey(ctx context.Context) error {
	return d.acts.RotateSigningKey(ctx, act.OperatorFor(""))
}
