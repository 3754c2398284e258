package history

import (
	"context"
	"fmt"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/verify"
)

// CheckStored compares what was promised with what the database holds, once
// nothing is under way any more.
func (h *History) CheckStored(ctx context.Context, db *store.Store, v *Verdict) error {
	report, err := verify.Run(ctx, db, verify.Options{})
	if err != nil {
		return err
	}
	for _, f := range report.Findings {
		v.Wrong = append(v.Wrong, fmt.Sprintf("verify: %s %s: %s", f.Check, f.ID, f.Problem))
	}
	for _, c := range []struct {
		list  *[]string
		what  string
		query string
	}{
		{&v.Lost, "request without an end", `SELECT q.id || ' ' || q.body FROM messages q LEFT JOIN messages a ON a.in_reply_to = q.id AND a.terminal
			WHERE q.type = 'chat_message' AND a.id IS NULL`},
		{&v.Doubled, "request with two ends", `SELECT in_reply_to || '' FROM messages WHERE terminal GROUP BY in_reply_to HAVING count(*) > 1`},
		{&v.Doubled, "text stored twice under a key", `SELECT body FROM messages WHERE type = 'chat_message' AND body LIKE 'keyed %' GROUP BY body HAVING count(*) > 1`},
		{&v.Wrong, "usage that is not what the answers took", `SELECT 'sum ' || coalesce(s.n, 0) || ', answers ' || a.n FROM
			(SELECT sum(answers) AS n FROM usage) s, (SELECT count(*) AS n FROM messages WHERE terminal AND type = 'agent_reply') a WHERE coalesce(s.n, 0) <> a.n`},
	} {
		found, err := texts(ctx, db, c.query)
		if err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
		for _, f := range found {
			*c.list = append(*c.list, c.what+": "+f)
		}
	}
	return h.checkConversations(ctx, db, v)
}

// checkConversations: the requests of a conversation stand in the order in which
// they were acknowledged, each once.
func (h *History) checkConversations(ctx context.Context, db *store.Store, v *Verdict) error {
	stored, err := texts(ctx, db, `SELECT channel || ' ' || body FROM messages WHERE type = 'chat_message' AND body LIKE '%said %' ORDER BY channel, off`)
	if err != nil {
		return err
	}
	place := map[string]int{}
	for i, line := range stored {
		if _, twice := place[line]; twice {
			v.Doubled = append(v.Doubled, "message stored twice: "+line)
		}
		place[line] = i
	}
	last := map[string]int{}
	for _, op := range h.Ops {
		if op.Kind != Conversation || op.Outcome != OK {
			continue
		}
		at, found := place[op.Channel+" "+op.Text]
		switch before, some := last[op.Channel]; {
		case !found:
			v.Lost = append(v.Lost, fmt.Sprintf("%s was answered and is not in conversation %s", op.Text, op.Channel))
			continue
		case some && at < before:
			v.Wrong = append(v.Wrong, fmt.Sprintf("%s stands before what was said and answered earlier", op.Text))
		}
		last[op.Channel] = at
	}
	return nil
}

func texts(ctx context.Context, db *store.Store, query string) (list []string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, rows.Err()
}
