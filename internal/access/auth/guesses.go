package auth

import (
	"net/http"
	"sync"
	"time"

	"github.com/beeos/beeos"
)

// guessesMost is how many keys that are no good one address may send in a
// minute before it is told to slow down. Many people may sit behind one
// address, so a good key is good whatever its neighbours send, and a program
// with a stale key that tries every second is not there yet.
const guessesMost = 300

// guesses counts keys that are no good. Its zero value is ready.
type guesses struct {
	once  sync.Once
	limit Limiter
}

func (g *guesses) take(from string, now func() time.Time) error {
	g.once.Do(func() { g.limit.Most, g.limit.Per, g.limit.Now = guessesMost, time.Minute, now })
	return g.limit.Take(from)
}

// KeyOf returns whom the API key of a request belongs to. An address that
// sends too many that are no good is told so instead of that they are not.
func (c *Checker) KeyOf(r *http.Request, token string) (beeos.Caller, error) {
	caller, err := c.Key(r.Context(), token)
	if beeos.CodeOf(err) != beeos.InvalidToken || c.From == nil {
		return caller, err
	}
	if from := Network(c.From(r)); from != "" {
		if limited, ok := c.bad.take(from, c.now).(*beeos.Error); ok {
			limited.Message = "too many unknown keys came from this address; correct the key, and try again in a minute"
			return caller, limited
		}
	}
	return caller, err
}
