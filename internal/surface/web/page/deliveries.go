package page

import (
	"fmt"
	"time"

	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// Delivery is how something that was to be sent outside stands, in words.
type Delivery struct {
	ID          string
	State, Mood string
	At          time.Time
	Answer      string // to the last attempt
}

var deliveryStates = map[outbox.Status]struct{ words, mood string }{
	outbox.Pending:   {"to be sent", "busy"},
	outbox.Failed:    {"will be tried again", "busy"},
	outbox.Succeeded: {"delivered", "good"},
	outbox.Dead:      {"given up", "bad"},
}

// DescribeDelivery puts into words how a delivery stands.
func DescribeDelivery(d *outbox.Delivery) Delivery {
	now := deliveryStates[d.Status]
	said := Delivery{ID: d.ID, State: now.words, Mood: now.mood, At: d.CreatedAt}
	switch {
	case d.Error != "":
		said.Answer = safetext.Line(d.Error, 200)
	case d.Response != 0:
		said.Answer = fmt.Sprintf("HTTP %d", d.Response)
	}
	return said
}
