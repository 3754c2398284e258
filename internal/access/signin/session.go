package signin

import (
	"context"
	"maps"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/store/people"
)

const (
	sessionIdle   = 14 * 24 * time.Hour // a session nobody uses ends after this
	sessionMost   = 30 * 24 * time.Hour // and every one after this
	sessionTouch  = 10 * time.Minute    // how exact "last seen" is
	sessionCache  = 5 * time.Second     // how long a sign-out elsewhere can go unnoticed
	sessionsKept  = 4096
	sessionPrefix = "bos_"
)

// session is what is remembered of one for a moment.
type session struct {
	user  beeos.User
	login people.Login
	until time.Time
}

// Begin signs a person in at a browser and returns the secret for its cookie,
// which is kept nowhere else. about says how and where: Method, Address and
// Device.
func (p *People) Begin(ctx context.Context, u beeos.User, about people.Login) (token string, err error) {
	if !u.DisabledAt.IsZero() {
		return "", signedOut()
	}
	token, now := beeos.NewSecret(sessionPrefix), p.now()
	about.ID, about.UserID, about.CreatedAt, about.SeenAt, about.ExpiresAt = beeos.NewID(), u.ID, now, now, now.Add(sessionIdle)
	return token, p.DB.People.CreateLogin(ctx, about, auth.Hash(token))
}

// Session returns who is signed in with this token; InvalidToken when nobody
// is any more.
func (p *People) Session(ctx context.Context, token string) (beeos.User, people.Login, error) {
	if len(token) != len(sessionPrefix)+64 {
		return beeos.User{}, people.Login{}, signedOut()
	}
	hash, now := auth.Hash(token), p.now()
	p.mu.Lock()
	s, ok := p.sessions[string(hash)]
	p.mu.Unlock()
	if ok && now.Before(s.until) && now.Before(s.login.ExpiresAt) {
		return s.user, s.login, nil
	}
	login, u, err := p.DB.People.GetLogin(ctx, hash, now)
	if beeos.CodeOf(err) == beeos.NotFound {
		return beeos.User{}, people.Login{}, signedOut()
	}
	if err != nil {
		return beeos.User{}, people.Login{}, err
	}
	if now.Sub(login.SeenAt) >= sessionTouch {
		login.SeenAt, login.ExpiresAt = now, earlier(now.Add(sessionIdle), login.CreatedAt.Add(sessionMost))
		if err := p.DB.People.TouchLogin(ctx, hash, login.SeenAt, login.ExpiresAt); err != nil {
			return beeos.User{}, people.Login{}, err
		}
	}
	p.remember(string(hash), session{user: u, login: login, until: now.Add(sessionCache)})
	return u, login, nil
}

// remember keeps a session for a moment. A sign-out that passes by meanwhile
// goes unnoticed for that moment, no longer.
func (p *People) remember(hash string, s session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.sessions) >= sessionsKept || p.sessions == nil {
		p.sessions = map[string]session{}
	}
	p.sessions[hash] = s
}

// Forget drops what is remembered of a person's sessions.
func (p *People) Forget(userID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.sessions, func(_ string, s session) bool { return s.user.ID == userID })
}

// End signs this browser out.
func (p *People) End(ctx context.Context, token string) error {
	hash := auth.Hash(token)
	p.mu.Lock()
	delete(p.sessions, string(hash))
	p.mu.Unlock()
	return p.DB.People.EndLogin(ctx, hash)
}

// EndOne signs another browser of the person out, by its id.
func (p *People) EndOne(ctx context.Context, u beeos.User, loginID string) error {
	if err := p.DB.People.EndLoginByID(ctx, u.ID, loginID); err != nil {
		return err
	}
	p.Forget(u.ID)
	return nil
}

// EndAll signs a person out everywhere.
func (p *People) EndAll(ctx context.Context, userID string) error {
	if err := p.DB.People.EndLogins(ctx, userID); err != nil {
		return err
	}
	return p.signOut(ctx, userID)
}

// Logins returns where a person is signed in, the newest first.
func (p *People) Logins(ctx context.Context, userID string) ([]people.Login, error) {
	return p.DB.People.ListLogins(ctx, userID, p.now())
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
