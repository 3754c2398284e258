package calls

// What the ledger needs to number routes.
const (
	// FindRoute and AddRoute give the number of a route. Two who add one at the
	// same moment, or two at once, may find that nothing was added: look again.
	FindRoute = `SELECT id, seen_at FROM routes WHERE agent_id = $1 AND caller = $2 AND credential = $3 AND surface = $4 AND tool = $5`
	AddRoute  = `INSERT INTO routes (id, agent_id, caller, credential, surface, tool, seen_at)
		SELECT COALESCE(MAX(id), 0) + 1, CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS TEXT), CAST($6 AS BIGINT) FROM routes WHERE TRUE ON CONFLICT DO NOTHING`
)

// slowness are the classes of calls that took long, in microseconds: there is an
// index by class, which calls that are quick do not pay for.
var slowness = [...]int64{1: 100_000, 2: 1_000_000, 3: 10_000_000, 4: 60_000_000, 5: 600_000_000}

// classOfMinutes is the first of those that took minutes.
const classOfMinutes = 4

// Slowness is the class of a call that took so many microseconds; 0 = it was quick.
func Slowness(took int64) int64 {
	class := int64(0)
	for class+1 < int64(len(slowness)) && took >= slowness[class+1] {
		class++
	}
	return class
}
