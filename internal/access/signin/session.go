package signin

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/people"
)

const (
	sessionIdle   = 14 * 24 * time.Hour // a session nobody uses ends after this
	sessionMost   = 30 * 24 * time.Hour // and every one after this
	sessionTouch  = 10 * time.Minute    // how exact "last seen" is
	sessionCache  = 5 * time.Second     // how long a sign-out elsewhere can go unnoticed
	sessionPrefix = "bos_"
)

// session is what is remembered of one for a moment.
type session struct {
	user  beeos.User
	login people.Login
}

// BeginSession signs a person in at a browser and returns the secret for its
// cookie, which is kept nowhere else. about says how and where: Method, Address
// and Device.
func (p *People) BeginSession(ctx context.Context, u beeos.User, about people.Login) (token string, err error) {
	if !u.DisabledAt.IsZero() {
		return "", signedOut()
	}
	token, now := beeos.NewSecret(sessionPrefix), p.now()
	about.ID, about.UserID, about.CreatedAt, about.SeenAt, about.ExpiresAt = beeos.NewID(), u.ID, now, now, now.Add(sessionIdle)
	return token, p.Table.CreateLogin(ctx, about, auth.Hash(token))
}

// FindSession returns who is signed in with this token; InvalidToken when nobody
// is any more.
func (p *People) FindSession(ctx context.Context, token string) (beeos.User, people.Login, error) {
	if len(token) != len(sessionPrefix)+64 {
		return beeos.User{}, people.Login{}, signedOut()
	}
	hash, now := sha256.Sum256([]byte(token)), p.now()
	s, ok, generation := p.sessions.Get(hash, now)
	if ok && now.Before(s.login.ExpiresAt) {
		return s.user, s.login, nil
	}
	login, u, err := p.Table.GetLogin(ctx, hash[:], now)
	if beeos.CodeOf(err) == beeos.NotFound {
		return beeos.User{}, people.Login{}, signedOut()
	}
	if err != nil {
		return beeos.User{}, people.Login{}, err
	}
	if now.Sub(login.SeenAt) >= sessionTouch {
		login.SeenAt, login.ExpiresAt = now, earlier(now.Add(sessionIdle), login.CreatedAt.Add(sessionMost))
		if err := p.Table.TouchLogin(ctx, hash[:], login.SeenAt, login.ExpiresAt); err != nil {
			return beeos.User{}, people.Login{}, err
		}
	}
	p.sessions.Put(hash, session{u, login}, now, now.Add(sessionCache), generation)
	return u, login, nil
}

// Forget drops what is remembered of a person's sessions.
func (p *People) Forget(userID string) {
	p.sessions.Forget(func(s session) bool { return s.user.ID == userID })
}

// EndSession signs this browser out; InvalidToken when it is already.
func (p *People) EndSession(ctx context.Context, token string) error {
	u, _, err := p.FindSession(ctx, token)
	if err != nil {
		return err
	}
	hash := sha256.Sum256([]byte(token))
	if err := p.Table.EndLogin(ctx, hash[:]); err != nil {
		return err
	}
	p.changed(u.ID)
	return nil
}

// EndSessionByID signs another browser of the person out, by its id.
func (p *People) EndSessionByID(ctx context.Context, u beeos.User, loginID string) error {
	if err := p.Table.EndLoginByID(ctx, u.ID, loginID); err != nil {
		return err
	}
	p.changed(u.ID)
	p.audit(ctx, u.ID, audit.UserEndSession, map[string]string{"session": loginID})
	return nil
}

// EndSessions signs a person out everywhere.
func (p *People) EndSessions(ctx context.Context, userID string) error {
	if err := p.Table.EndLogins(ctx, userID); err != nil {
		return err
	}
	return p.signOut(ctx, userID)
}

// ListSessions returns where a person is signed in, the newest first.
func (p *People) ListSessions(ctx context.Context, userID string) ([]people.Login, error) {
	return p.Table.ListLogins(ctx, userID, p.now())
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func signedOut() error {
	return beeos.Errorf(beeos.InvalidToken, "you are signed out; sign in again")
}
