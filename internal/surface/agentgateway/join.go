package agentgateway

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const joinLimit = 64 << 10

type joinRequest struct {
	Token     string `json:"token"`
	Name      string `json:"name"`
	PublicKey []byte `json:"public_key"` // base64
}

type joinAnswer struct {
	InstanceID string `json:"instance_id"`
	KeyID      string `json:"key_id"`
}

// join registers the public key of a new instance. The owner's consent is a
// one-time token in the body, or the owner's own key.
func (g *Gateway) join(w http.ResponseWriter, r *http.Request) error {
	body, err := httpd.ReadJSON(w, r, joinLimit)
	if err != nil {
		return err
	}
	var req joinRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return beeos.Wrap(beeos.InvalidBody, err, "the body must be {\"token\", \"name\", \"public_key\"}, with the key in base64")
	}
	if len(req.PublicKey) != ed25519.PublicKeySize { // before the token is used up
		return beeos.Errorf(beeos.InvalidParam, "public_key must be an Ed25519 public key: %d bytes in base64", ed25519.PublicKeySize)
	}
	owner, err := g.owner(r, req.Token)
	if err != nil {
		return err
	}
	inst := beeos.Instance{
		ID: "inst_" + strings.ToLower(rand.Text()[:20]), OwnerID: owner, Name: req.Name,
		PublicKey: req.PublicKey, CreatedAt: g.Now(),
	}
	if inst.Name == "" {
		inst.Name = "agent"
	}
	if err := g.Instances.Create(r.Context(), inst); err != nil {
		return err
	}
	g.audit(r.Context(), audit.Row{OwnerID: owner, Actor: "user:" + owner, Action: "instance.join", Subject: inst.ID, Detail: map[string]string{"name": inst.Name}})
	httpd.WriteData(w, http.StatusCreated, joinAnswer{InstanceID: inst.ID, KeyID: inst.ID})
	return nil
}

// owner returns whose instance it will be.
func (g *Gateway) owner(r *http.Request, token string) (string, error) {
	if token == "" {
		caller, err := g.Auth.Authenticate(r, auth.Audience{Surface: auth.Agents})
		if err != nil {
			return "", err
		}
		if caller.Kind != beeos.ByUserKey {
			return "", beeos.Errorf(beeos.Forbidden, "an instance joins with a user key (%s…) or a one-time token", beeos.UserKeyPrefix)
		}
		return caller.UserID, nil
	}
	if r.Header.Get("Authorization") != "" {
		return "", beeos.Errorf(beeos.Unauthorized, "the request has two credentials; send the token or the key")
	}
	return g.Instances.UseJoinToken(r.Context(), token)
}
