package verify

import (
	"database/sql"
	"strings"

	"github.com/beeos/beeos/internal/store/database"
)

// delivery is what is looked at of a request that is under way.
type delivery struct {
	turn, channel, agent, owner, lane string
	off, route, attempt, until        int64
	leased                            bool
	agentKnown                        bool

	found bool // its request is where it says
}

const deliveriesUnderWay = `SELECT d.turn, d.channel, d.off, d.agent_id, d.owner, d.lane, d.route, d.leased, d.attempt, d.lease_until, a.id IS NOT NULL
	FROM deliveries d LEFT JOIN agents a ON a.id = d.agent_id ORDER BY d.turn`

func deliveryFields(d *delivery) []any {
	return []any{&d.turn, &d.channel, &d.off, &d.agent, &d.owner, &d.lane, &d.route, &d.leased, &d.attempt, &d.until, &d.agentKnown}
}

// readDeliveries reads all requests under way and checks what each says of itself.
// Whether there is such a request shows when the messages are read.
func (c *checker) readDeliveries() (string, error) {
	rows, err := list(c, deliveryFields, deliveriesUnderWay)
	for i := range rows {
		d := &rows[i]
		c.open[d.turn] = d
		c.checkLease(d)
		if d.route != 0 && !c.routes[d.route] {
			c.find(d.turn, "it came by route %d, which is not there", d.route)
		}
		if !d.agentKnown {
			c.find(d.turn, "it is for agent %s, which is not there", d.agent)
		}
		if d.lane != "" && d.lane != d.agent && d.lane != d.agent+" "+d.owner && d.lane != d.channel {
			c.find(d.turn, "it is in lane %q, which is not one of agent %s", d.lane, d.agent)
		}
	}
	return count(len(rows), "request") + " under way", err
}

func (c *checker) checkLease(d *delivery) {
	switch {
	case d.attempt < 0: // there is no upper bound: who comes back to what it never left has one more
		c.find(d.turn, "it is in attempt %d", d.attempt)
	case d.leased && d.attempt == 0:
		c.find(d.turn, "it is leased, and was never handed out")
	case d.leased && d.until <= 0:
		c.find(d.turn, "it is leased, and the lease never ends")
	}
}

// checkLanes: of a lane one request is out at a time.
func (c *checker) checkLanes() (string, error) {
	lanes := 0
	err := c.each("SELECT lane, sum(CASE WHEN leased THEN 1 ELSE 0 END) FROM deliveries WHERE lane <> '' GROUP BY lane ORDER BY lane", func(r *sql.Rows) error {
		var lane string
		var out int64
		err := r.Scan(&lane, &out)
		if lanes++; out > 1 {
			c.find(lane, "the lane has %d requests out at once: %s", out, strings.Join(c.inLane(lane), ", "))
		}
		return err
	})
	return count(lanes, "lane"), err
}

// inLane names the requests of a lane that are out.
func (c *checker) inLane(lane string) (turns []string) {
	for _, turn := range database.SortedKeys(c.open) {
		if d := c.open[turn]; d.lane == lane && d.leased {
			turns = append(turns, turn)
		}
	}
	return turns
}
