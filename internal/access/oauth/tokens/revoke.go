package tokens

import (
	"context"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/oauth/protocol"
)

// ServeRevoke ends the chain that a token belongs to (RFC 7009). The answer does
// not tell whether there was one.
func (m *Minter) ServeRevoke(w http.ResponseWriter, r *http.Request) {
	form, err := readForm(w, r)
	if err == nil && form.Get("token") == "" {
		err = protocol.Refuse("invalid_request", "token is missing")
	}
	if err == nil {
		err = m.endFamily(r.Context(), form.Get("token"), form.Get("client_id"))
	}
	protocol.Answer(w, r, http.StatusOK, struct{}{}, err)
}

func (m *Minter) endFamily(ctx context.Context, token, clientID string) error {
	family, secret, isRefresh := parseRefresh(token)
	if !isRefresh {
		c, err := m.keys.verify(ctx, token, typeAccess, m.Issuer)
		if err != nil {
			return nil //nolint:nilerr // whatever it is, it is good for nothing
		}
		family = c.Family
	}
	f, _, err := m.Grants.GetFamily(ctx, family, m.Now())
	if beeos.CodeOf(err) == beeos.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if f.GrantID == "" || clientID != "" && clientID != f.ClientID || isRefresh && !m.wasGood(f, secret) {
		return nil
	}
	if err := m.Grants.EndFamily(ctx, f.ID); err != nil {
		return err
	}
	m.Changed(f.ID)
	return nil
}
