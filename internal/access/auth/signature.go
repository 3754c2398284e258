package auth

import (
	"context"
	"net/http"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// Instance returns the agent instance that signed the request, and the body that
// it signed. The signature must be of this moment and is accepted once, by any
// replica. The body is read last, since it may be large: not before everything
// else that the request says of its sender is right.
func (a *Authenticator) Instance(r *http.Request, read func() ([]byte, error)) (beeos.Instance, []byte, error) {
	sig, err := a.readSignature(r)
	if err != nil {
		return beeos.Instance{}, nil, err
	}
	inst, err := a.signer(r.Context(), sig.KeyID)
	if err != nil {
		return beeos.Instance{}, nil, err
	}
	httpd.SetSender(r, inst.OwnerID) // as it says: the signature covers the body, which is read first
	body, err := read()
	if err != nil {
		return beeos.Instance{}, nil, err
	}
	if !sig.Verify(inst.PublicKey, r.Method, r.URL.RequestURI(), body) {
		return beeos.Instance{}, nil, errWrongSignature
	}
	// Only a valid signature may take room in the table of nonces.
	fresh, err := a.Cluster.UseNonce(r.Context(), sig.KeyID, sig.Nonce, time.Unix(sig.Timestamp, 0).Add(beeos.SignatureWindow+time.Minute))
	if err != nil {
		return beeos.Instance{}, nil, err
	}
	if !fresh {
		return beeos.Instance{}, nil, beeos.Errorf(beeos.InvalidToken, "this signature was used before; sign every request anew")
	}
	a.seen.Note(inst.ID, a.Now())
	return inst, body, nil
}

// readSignature reads the header, and checks its form and its time.
func (a *Authenticator) readSignature(r *http.Request) (beeos.Signature, error) {
	header := r.Header.Values("Authorization")
	if len(header) == 0 {
		return beeos.Signature{}, beeos.Errorf(beeos.MissingToken, "the request is not signed; send \"Authorization: Ed25519 <keyId>:<timestamp>:<nonce>:<signature>\"")
	}
	sig, ok := beeos.ParseSignature(header[0])
	if !ok || len(header) > 1 {
		return beeos.Signature{}, beeos.Errorf(beeos.Unauthorized, "the Authorization header is not of the form \"Ed25519 <keyId>:<timestamp>:<nonce>:<signature>\"; correct it")
	}
	if off := a.Now().Sub(time.Unix(sig.Timestamp, 0)).Abs(); off > beeos.SignatureWindow {
		return beeos.Signature{}, beeos.Errorf(beeos.InvalidToken, "the signature's time is %s off ours, at most %s is allowed; set this machine's clock and sign again",
			off.Round(time.Second), beeos.SignatureWindow)
	}
	return sig, nil
}

var errWrongSignature = beeos.Errorf(beeos.InvalidToken, "the signature does not fit the request, or its instance is unknown or revoked; sign method, path, body, timestamp and nonce with the registered key, or register again")

// signer returns the live instance with that id. Unknown, revoked and disabled
// get the same answer as a wrong signature.
func (a *Authenticator) signer(ctx context.Context, id string) (beeos.Instance, error) {
	inst, err := a.Instances.Get(ctx, id)
	if err == nil && inst.RevokedAt.IsZero() {
		var owner beeos.User
		if owner, err = a.People.GetUser(ctx, inst.OwnerID); err == nil && owner.DisabledAt.IsZero() {
			return inst, nil
		}
	}
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return beeos.Instance{}, err
	}
	return beeos.Instance{}, errWrongSignature
}
