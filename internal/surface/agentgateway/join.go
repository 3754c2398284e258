package agentgateway

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/store/agents"
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
func (s *Surface) join(w http.ResponseWriter, r *http.Request) error {
	body, err := httpd.ReadJSON(w, r, joinLimit)
	if err != nil {
		return err
	}
	var req joinRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return beeos.Wrap(beeos.InvalidBody, err, "the body must be {\"token\", \"name\", \"public_key\"}, with the key in base64")
	}
	if len(req.PublicKey) != ed25519.PublicKeySize {
		return beeos.Errorf(beeos.InvalidParam, "public_key must be an Ed25519 public key: %d bytes in base64", ed25519.PublicKeySize)
	}
	if err := agents.CheckKey(req.PublicKey); err != nil {
		return err
	}
	inst := beeos.Instance{
		ID: "inst_" + strings.ToLower(rand.Text()[:20]), Name: cmp.Or(req.Name, "agent"), PublicKey: req.PublicKey, CreatedAt: s.Now(),
	}
	owner, err := s.register(r, req.Token, inst)
	if err != nil {
		return err
	}
	s.audit(r.Context(), audit.Row{OwnerID: owner, Actor: "user:" + owner, Action: audit.InstanceJoin, Subject: inst.ID, Detail: map[string]string{"name": inst.Name}})
	httpd.WriteData(w, http.StatusCreated, joinAnswer{InstanceID: inst.ID, KeyID: inst.ID})
	return nil
}

// register makes the instance and returns whose it is. A token that comes to
// nothing can be used again.
func (s *Surface) register(r *http.Request, token string, inst beeos.Instance) (owner string, err error) {
	if token == "" {
		caller, err := s.Auth.Authenticate(r, auth.Audience{Surface: auth.Agents})
		if err != nil {
			return "", err
		}
		if caller.Kind != beeos.ByUserKey {
			return "", beeos.Errorf(beeos.Forbidden, "an instance joins with a user key (%s…) or a one-time token", beeos.UserKeyPrefix)
		}
		inst.OwnerID = caller.UserID
		return inst.OwnerID, s.Instances.Create(r.Context(), inst)
	}
	if r.Header.Get("Authorization") != "" {
		return "", beeos.Errorf(beeos.Unauthorized, "the request has two credentials; send the token or the key")
	}
	return s.Instances.Join(r.Context(), token, inst)
}
