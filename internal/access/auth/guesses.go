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

// countGuess returns what to answer to a credential that is no good: err, or
// that the address it came from sends too many of them.
func (a *Authenticator) countGuess(r *http.Request, err error) error {
	if a.From == nil {
		return err
	}
	if from := Network(a.From(r)); from != "" {
		if limited, ok := a.bad.take(from, a.Now).(*beeos.Error); ok {
			limited.Message = "too many unknown keys came from this address; correct the key, and try again in a minute"
			return limited
		}
	}
	return err
}
