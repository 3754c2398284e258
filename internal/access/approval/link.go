package approval

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/wire/seal"
)

// A link lets whoever holds it decide one approval; messages carry it to people
// where they are. Opening it decides nothing: the page behind it has a form, so
// programs that follow links do no harm. It works once, because an approval is
// decided once, and only while the approval waits.

// linkSecret names the key that all replicas sign links with.
const linkSecret = "approval links"

// Link returns the address at which an open approval can be decided.
func (s *Approvals) Link(ctx context.Context, a *approvals.Approval) (string, error) {
	if !a.Open() {
		return "", alreadyDecided(a)
	}
	text := a.ID + "." + strconv.FormatInt(a.ExpiresAt.Unix(), 10)
	sum, err := s.signLink(ctx, text)
	if err != nil {
		return "", err
	}
	token := text + "." + base64.RawURLEncoding.EncodeToString(sum)
	return strings.TrimRight(s.Web, "/") + "/approve?token=" + url.QueryEscape(token), nil
}

// LinkFor is Link for a message that is sent without being asked for: only to
// the owner of the agent, about that turn, while it waits. Otherwise it is "".
func (s *Approvals) LinkFor(ctx context.Context, id, turn, principal string) (string, error) {
	a, err := s.Table.Get(ctx, id)
	if beeos.CodeOf(err) == beeos.NotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if s.Web == "" || !a.Open() || !a.ExpiresAt.After(s.Now()) || a.Turn != turn || principal != "user:"+a.OwnerID {
		return "", nil
	}
	return s.Link(ctx, &a)
}

// FindByLink returns whoever decides by a link, and what they were asked.
func (s *Approvals) FindByLink(ctx context.Context, token string) (by Decider, a approvals.Approval, err error) {
	cut := max(strings.LastIndexByte(token, '.'), 0)
	text := token[:cut]
	sum, err := s.signLink(ctx, text)
	if err != nil {
		return by, a, err
	}
	given, err1 := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token[cut:], "."))
	id, expires, _ := strings.Cut(text, ".")
	until, err2 := strconv.ParseInt(expires, 10, 64)
	if err1 != nil || err2 != nil || !hmac.Equal(sum, given) || s.Now().After(time.Unix(until, 0).Add(time.Second)) {
		return by, a, beeos.Errorf(beeos.NotFound, "this link is not complete or too old; open the console to see what waits for you")
	}
	by = Decider{Via: "link", link: id}
	if a, err = s.Find(ctx, id, by); err != nil {
		return by, a, err
	}
	owner, err := s.People.GetUser(ctx, a.OwnerID)
	if err == nil && !owner.DisabledAt.IsZero() { // whoever may not decide any more has handed on nothing that does
		return by, approvals.Approval{}, beeos.Errorf(beeos.NotFound, "whose approval this is has been locked out; ask an admin to decide")
	}
	return by, a, err
}

func (s *Approvals) signLink(ctx context.Context, text string) ([]byte, error) {
	key, err := s.Cluster.Secret(ctx, linkSecret, seal.NewKey)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("beeos approval link\x00" + text))
	return mac.Sum(nil), nil
}
