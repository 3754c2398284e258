package approval

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/wire/seal"
)

// A link lets whoever holds it decide one approval for the person that it was made
// for; messages carry it to people where they are. Opening it decides nothing: the page
// behind it has a form, so programs that follow links do no harm. It works once, because
// an approval is decided once, only while the approval waits, and only while that person
// may decide.

// linkSecret names the key that all replicas sign links with.
const linkSecret = "approval links"

// Link returns the address at which an open approval can be decided for a person.
func (s *Approvals) Link(ctx context.Context, a *approvals.Approval, userID string) (string, error) {
	if !a.Open() {
		return "", alreadyDecided(a)
	}
	u, err := s.People.GetUser(ctx, userID)
	if err != nil {
		return "", err
	}
	st, err := s.standing(ctx, &u, a)
	if err == nil && !st.MayDecide {
		err = refuseDecider(a, &u)
	}
	if err != nil {
		return "", err
	}
	return s.signAddress(ctx, a, u.ID)
}

func (s *Approvals) signAddress(ctx context.Context, a *approvals.Approval, userID string) (string, error) {
	text := a.ID + "." + strconv.FormatInt(a.ExpiresAt.Unix(), 10) + "." + base64.RawURLEncoding.EncodeToString([]byte(userID))
	sum, err := s.signLink(ctx, text)
	if err != nil {
		return "", err
	}
	token := text + "." + base64.RawURLEncoding.EncodeToString(sum)
	return strings.TrimRight(s.Web, "/") + "/approve?token=" + url.QueryEscape(token), nil
}

// LinkFor is Link for a message that is sent without being asked for: only to
// who may decide, and not because they are an admin, about that turn, while it waits.
// Otherwise it is "".
func (s *Approvals) LinkFor(ctx context.Context, id, turn, principal string) (string, error) {
	a, err := s.Table.Get(ctx, id)
	if beeos.CodeOf(err) == beeos.NotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	userID, person := strings.CutPrefix(principal, "user:")
	if s.Web == "" || !person || userID == "" || !a.Open() || !a.ExpiresAt.After(s.Now()) || a.Turn != turn {
		return "", nil
	}
	st, err := s.standing(ctx, &beeos.User{ID: userID}, &a)
	if err != nil || !st.MayDecide {
		return "", err
	}
	return s.signAddress(ctx, &a, userID)
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
	id, rest, _ := strings.Cut(text, ".")
	expires, person, _ := strings.Cut(rest, ".")
	userID, err2 := base64.RawURLEncoding.DecodeString(person)
	until, err3 := strconv.ParseInt(expires, 10, 64)
	if errors.Join(err1, err2, err3) != nil || !hmac.Equal(sum, given) || s.Now().After(time.Unix(until, 0).Add(time.Second)) {
		return by, a, beeos.Errorf(beeos.NotFound, "this link is not complete or too old; open the console to see what waits for you")
	}
	by = Decider{Via: "link", link: id}
	if by.linked, err = s.findLinked(ctx, id, string(userID)); err != nil {
		return by, a, err
	}
	a, st, err := s.find(ctx, id, &by)
	if err == nil && !st.MayDecide {
		err = beeos.Errorf(beeos.NotFound, "whom this link was made for has no say in this any more; open the console to see what waits for you")
	}
	if err != nil {
		return by, approvals.Approval{}, err
	}
	return by, a, nil
}

// findLinked returns whom a link was made for. One that names nobody is of a version
// that made links for owners alone.
func (s *Approvals) findLinked(ctx context.Context, id, userID string) (beeos.User, error) {
	if userID == "" {
		a, err := s.Table.Get(ctx, id)
		if err != nil {
			return beeos.User{}, err
		}
		userID = a.OwnerID
	}
	u, err := s.People.GetUser(ctx, userID)
	if err == nil && !u.DisabledAt.IsZero() { // whoever may not decide any more has handed on nothing that does
		err = beeos.Errorf(beeos.NotFound, "whose approval this is has been locked out; ask an admin to decide")
	}
	return u, err
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
