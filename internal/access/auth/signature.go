package auth

import (
	"net/http"
	"time"

	"github.com/beeos/beeos"
)

// Instance returns the agent instance that signed the request and body. The
// signature must be of this moment and is accepted once, by any replica.
func (a *Authenticator) Instance(r *http.Request, body []byte) (beeos.Instance, error) {
	header := r.Header.Values("Authorization")
	if len(header) == 0 {
		return beeos.Instance{}, beeos.Errorf(beeos.MissingToken, "the request is not signed; send \"Authorization: Ed25519 <keyId>:<timestamp>:<nonce>:<signature>\"")
	}
	sig, ok := beeos.ParseSignature(header[0])
	if !ok || len(header) > 1 {
		return beeos.Instance{}, beeos.Errorf(beeos.Unauthorized, "the Authorization header is not of the form \"Ed25519 <keyId>:<timestamp>:<nonce>:<signature>\"; correct it")
	}
	now, signed := a.Now(), time.Unix(sig.Timestamp, 0)
	if off := now.Sub(signed).Abs(); off > beeos.SignatureWindow {
		return beeos.Instance{}, beeos.Errorf(beeos.InvalidToken, "the signature's time is %s off ours, at most %s is allowed; set this machine's clock and sign again",
			off.Round(time.Second), beeos.SignatureWindow)
	}
	inst, err := a.signer(r, sig, body)
	if err != nil {
		return beeos.Instance{}, err
	}
	// Only a valid signature may take room in the table of nonces.
	fresh, err := a.DB.Cluster.UseNonce(r.Context(), sig.KeyID, sig.Nonce, signed.Add(beeos.SignatureWindow+time.Minute))
	if err != nil {
		return beeos.Instance{}, err
	}
	if !fresh {
		return beeos.Instance{}, beeos.Errorf(beeos.InvalidToken, "this signature was used before; sign every request anew")
	}
	return inst, nil
}

// signer returns the live instance whose key made the signature. Unknown,
// revoked and disabled get the same answer as a wrong signature.
func (a *Authenticator) signer(r *http.Request, sig beeos.Signature, body []byte) (beeos.Instance, error) {
	ctx := r.Context()
	inst, err := a.DB.Instances.Get(ctx, sig.KeyID)
	if err == nil && inst.RevokedAt.IsZero() && sig.Verify(inst.PublicKey, r.Method, r.URL.RequestURI(), body) {
		owner, err := a.DB.People.GetUser(ctx, inst.OwnerID)
		if err != nil && beeos.CodeOf(err) != beeos.NotFound {
			return beeos.Instance{}, err
		}
		if err == nil && owner.DisabledAt.IsZero() {
			return inst, nil
		}
	}
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return beeos.Instance{}, err
	}
	return beeos.Instance{}, beeos.Errorf(beeos.InvalidToken, "the signature does not fit the request, or its instance is unknown or revoked; sign method, path, body, timestamp and nonce with the registered key, or register again")
}
