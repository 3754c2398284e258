package approval

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
)

// A link lets whoever holds it decide one approval, for messages that reach
// people where they are. Opening it decides nothing: the page behind it has a
// form, so programs that follow links do no harm. It works once, because an
// approval is decided once, and no longer than the approval waits.

// linkSecret names the key that all replicas sign links with.
const linkSecret = "approval links"

// Link returns the address at which an open approval can be decided.
func (d *Desk) Link(ctx context.Context, a *store.Approval) (string, error) {
	if !a.Open() {
		return "", decided(a)
	}
	text := a.ID + "." + strconv.FormatInt(a.ExpiresAt.Unix(), 10)
	sum, err := d.sign(ctx, text)
	if err != nil {
		return "", err
	}
	token := text + "." + base64.RawURLEncoding.EncodeToString(sum)
	return strings.TrimRight(d.Web, "/") + "/approve?token=" + url.QueryEscape(token), nil
}

// LinkFor is Link for a message that goes to somebody by itself: to nobody but
// the owner of the agent, about that turn, while it waits. Else it is "".
func (d *Desk) LinkFor(ctx context.Context, id, turn, principal string) (string, error) {
	a, err := d.DB.Approval(ctx, id)
	if beeos.CodeOf(err) == beeos.NotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if d.Web == "" || !a.Open() || !a.ExpiresAt.After(d.Now()) || a.Turn != turn || principal != "user:"+a.OwnerID {
		return "", nil
	}
	return d.Link(ctx, &a)
}

// ByLink returns who decides by a link, and what they were asked.
func (d *Desk) ByLink(ctx context.Context, token string) (Decider, store.Approval, error) {
	useless := beeos.Errorf(beeos.NotFound, "this link is not complete or too old; open the console to see what waits for you")
	cut := strings.LastIndexByte(token, '.')
	if cut < 0 {
		return Decider{}, store.Approval{}, useless
	}
	text := token[:cut]
	given, err := base64.RawURLEncoding.DecodeString(token[cut+1:])
	if err != nil {
		return Decider{}, store.Approval{}, useless
	}
	sum, err := d.sign(ctx, text)
	if err != nil {
		return Decider{}, store.Approval{}, err
	}
	id, expires, _ := strings.Cut(text, ".")
	until, err := strconv.ParseInt(expires, 10, 64)
	if !hmac.Equal(sum, given) || err != nil || d.Now().After(time.Unix(until, 0).Add(time.Second)) {
		return Decider{}, store.Approval{}, useless
	}
	by := Decider{Via: "link", link: id}
	a, err := d.Find(ctx, id, by)
	return by, a, err
}

func (d *Desk) sign(ctx context.Context, text string) ([]byte, error) {
	key, err := d.DB.Secret(ctx, linkSecret, func() []byte {
		b := make([]byte, 32)
		rand.Read(b) //nolint:errcheck // crypto/rand never fails since Go 1.24
		return b
	})
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("beeos approval link\x00" + text))
	return mac.Sum(nil), nil
}
