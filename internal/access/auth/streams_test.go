package auth

import (
	"context"
	"testing"

	"github.com/beeos/beeos"
)

// TestStreamEndsWithItsKey: by a notice, when it expires, and when the agent is
// out of its reach; not because something else about its owner changed, nor
// because the database cannot be asked.
func TestStreamEndsWithItsKey(t *testing.T) {
	for name, end := range map[string]func(r *rig, k beeos.Key) error{
		"revoked": func(r *rig, k beeos.Key) error {
			err := r.DB.Keys.Revoke(r.t.Context(), r.user.ID, k.ID)
			r.Forget(k.ID)
			return err
		},
		"expired": func(r *rig, k beeos.Key) error {
			r.clock = k.ExpiresAt
			r.Streams.Recheck("")
			return nil
		},
		"its owner is disabled": func(r *rig, _ beeos.Key) error {
			err := r.DB.People.Lock(r.t.Context(), r.user.ID, r.clock)
			r.Forget(r.user.ID)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			k := beeos.Key{ID: "k", Kind: beeos.UserKey, Name: "key", ExpiresAt: r.clock.AddDate(0, 0, 1)}
			req, at := request("Authorization", "Bearer "+r.key(k)), Audience{Surface: REST}
			c, err := r.Authenticate(req, at)
			if err != nil {
				t.Fatal(err)
			}
			st, req := r.OpenStream(req, at, c, nil)
			defer st.Close()
			r.cache.Forget(func(*cachedKey) bool { return true }) // something about its owner has changed
			if err := st.Check(); err != nil || req.Context().Err() != nil {
				t.Fatalf("before: %v", err)
			}
			if err := end(r, k); err != nil {
				t.Fatal(err)
			}
			<-req.Context().Done()
			if beeos.CodeOf(st.Err()) != beeos.InvalidToken || beeos.CodeOf(st.Check()) != beeos.InvalidToken {
				t.Errorf("it ended with %v", st.Err())
			}
		})
	}
}

// TestStreamSurvivesWhatIsNoRefusal: nobody is cut off because the database is
// away for a moment.
func TestStreamSurvivesWhatIsNoRefusal(t *testing.T) {
	err := beeos.Errorf(beeos.AgentServiceUnavailable, "the database is away")
	st, ctx := NewStreams().Open(t.Context(), beeos.Caller{}, func() (beeos.Caller, error) { return beeos.Caller{}, err })
	if st.Check() != nil || ctx.Err() != nil {
		t.Error("cut off: ", st.Err())
	}
	st.Close()
	if ctx.Err() == nil || st.Err() != nil {
		t.Errorf("closed: %v, %v", ctx.Err(), st.Err())
	}
}

// TestStreamOfAnAgentOutOfReach: an app whose grant was narrowed hears no more of
// the agent.
func TestStreamOfAnAgentOutOfReach(t *testing.T) {
	c := beeos.Caller{Kind: beeos.ByOAuth, UserID: "u", CredentialID: "g", AgentIDs: []string{"a"}}
	st, ctx := NewStreams().Open(t.Context(), c, func() (beeos.Caller, error) { return c, nil })
	defer st.Close()
	st.agent = &beeos.Agent{ID: "a", OwnerID: "u"}
	if err := st.Check(); err != nil {
		t.Fatal(err)
	}
	c.AgentIDs = []string{"b"}
	st.set.Recheck("g")
	<-ctx.Done()
	if beeos.CodeOf(st.Err()) != beeos.Unauthorized {
		t.Error(st.Err())
	}
}

// TestStreamsAreCounted: per credential, and per person over all of them; what
// was closed makes room.
func TestStreamsAreCounted(t *testing.T) {
	s := NewStreams()
	open := func(user, credential string) (*Stream, error) {
		st, _ := s.Open(context.Background(), beeos.Caller{UserID: user, CredentialID: credential}, nil)
		err := st.Follow()
		if err != nil {
			st.Close()
		}
		return st, err
	}
	var last *Stream
	for _, credential := range []string{"k1", "k2"} {
		for i := range followsPerCredential {
			var err error
			if last, err = open("u", credential); err != nil {
				t.Fatal(credential, i, err)
			}
		}
	}
	for _, who := range [][2]string{{"u", "k1"}, {"u", "k3"}, {"other", "k2"}} {
		if _, err := open(who[0], who[1]); beeos.CodeOf(err) != beeos.RateLimited || err.(*beeos.Error).RetryAfter == 0 {
			t.Errorf("one more for %v: %v", who, err)
		}
	}
	if _, err := open("other", "k9"); err != nil {
		t.Error("somebody else: ", err)
	}
	last.Close()
	last.Close()
	if _, err := open("u", "k3"); err != nil {
		t.Error("after one has left: ", err)
	}
	if n := s.Count("u"); n != followsPerUser {
		t.Errorf("%d are counted", n)
	}
}
