package signin

import (
	"context"
	"strings"
	"time"

	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/store/people"
)

// How many failures are free, how long the wait is after the next one, and
// how long it can get; it doubles in between. An account's wait ends soon, so
// that nobody can keep its owner out; an address stands for one attacker, or
// for an office full of people who mistype.
const (
	accountFree, accountMost = 4, time.Minute
	addressFree, addressMost = 19, 15 * time.Minute
	firstWait                = time.Second
)

// attempt is one try to sign in, as the throttle sees it.
type attempt []*people.Attempt

// newAttempt names what a try is held against; an address that cannot be
// known leaves the account alone.
func newAttempt(email, from string) attempt {
	a := attempt{{Hash: accountHash(email), Wait: doubleWaits(accountFree, accountMost)}}
	if from := auth.Network(from); from != "" {
		a = append(a, &people.Attempt{Hash: auth.Hash("address:" + from), Wait: doubleWaits(addressFree, addressMost)})
	}
	return a
}

func accountHash(email string) []byte {
	return auth.Hash("account:" + strings.ToLower(strings.TrimSpace(email)))
}

// account is how often the account has failed lately, this try included.
func (a attempt) account() int { return a[0].Failures }

// forgiveAttempt takes the try back, and all failures of the account with it.
func (p *People) forgiveAttempt(ctx context.Context, a attempt) error {
	if err := p.Table.ForgetFailures(ctx, a[0].Hash); err != nil {
		return err
	}
	return p.Table.ForgiveAttempt(ctx, a[1:])
}

func doubleWaits(free int, most time.Duration) func(int) time.Duration {
	return func(failures int) time.Duration {
		if failures <= free {
			return 0
		}
		return min(most, firstWait<<min(failures-free-1, 20))
	}
}
