package calls

// What the ledger writes when a call ends, inside its own transaction.
const (
	// Columns are those of a row of the record, in the order of Values.
	Columns = `n, turn, off, route, outcome, took`

	// FindRoute and AddRoute give the number of a route. Two who add one at the
	// same moment, or two at once, may find that nothing was added: look again.
	FindRoute = `SELECT id, seen_at FROM routes WHERE agent_id = $1 AND caller = $2 AND surface = $3 AND tool = $4`
	AddRoute  = `INSERT INTO routes (id, agent_id, caller, surface, tool, seen_at)
		SELECT COALESCE(MAX(id), 0) + 1, CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS BIGINT) FROM routes WHERE TRUE ON CONFLICT DO NOTHING`
	SeeRoute = `UPDATE routes SET seen_at = $2 WHERE id = $1 AND seen_at < $2`

	// AddSteps adds what an agent told of its work for a call.
	AddSteps = `INSERT INTO call_steps (n, steps) VALUES ($1, $2) ON CONFLICT (n) DO NOTHING`

	// Occupant is who has a place in the record.
	Occupant = `SELECT turn FROM calls WHERE n = $1`
)

// Values is a row of the record.
func Values(turn string, off, route int64, o Outcome, tookMicros int64) []any {
	return []any{Key(turn), encodeID(turn), off, route, int64(o), max(0, tookMicros)}
}

// Places are where the call of a request may stand in the record.
func Places(turn string) []any { return []any{Key(turn), Key(turn) + 1} }

// Request is the id of a request as the record has it.
func Request(turn string) []byte { return encodeID(turn) }
