package history

import (
	"context"
	"fmt"
	"strings"

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
		{&v.Wrong, "usage that is not what the answers took", fmt.Sprintf(`SELECT 'sums of ' || s.n || ' answers, ' || s.read || ' tokens read and ' || s.said || ' said, of ' || a.n || ' answers' FROM
			(SELECT coalesce(sum(answers), 0) AS n, coalesce(sum(input), 0) AS read, coalesce(sum(output), 0) AS said FROM usage) s,
			(SELECT count(*) AS n FROM messages WHERE terminal AND type = 'agent_reply') a
			WHERE s.n <> a.n OR s.read <> a.n * %d OR s.said <> a.n * %d`, TokensRead, TokensSaid)},
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

// checkConversations: each request of a conversation is there once, and they stand
// in an order in which they can have been said.
func (h *History) checkConversations(ctx context.Context, db *store.Store, v *Verdict) error {
	stored, err := texts(ctx, db, `SELECT channel || ' ' || body FROM messages WHERE type = 'chat_message' AND body LIKE '%said %' ORDER BY channel, off`)
	if err != nil {
		return err
	}
	places := map[string]map[string]int{} // by channel and text
	for i, line := range stored {
		channel, text, _ := strings.Cut(line, " ")
		if places[channel] == nil {
			places[channel] = map[string]int{}
		}
		if _, twice := places[channel][text]; twice {
			v.Doubled = append(v.Doubled, "message stored twice: "+line)
		}
		places[channel][text] = i
	}
	said := map[string][]*Op{}
	for _, op := range h.Ops {
		if op.Channel == "" || op.Outcome != OK {
			continue
		}
		if _, found := places[op.Channel][op.Text]; !found {
			v.Lost = append(v.Lost, fmt.Sprintf("%s was answered and is not in conversation %s", op.Text, op.Channel))
			continue
		}
		said[op.Channel] = append(said[op.Channel], op)
	}
	for channel, ops := range said {
		for _, wrong := range misplaced(ops, places[channel]) {
			v.Wrong = append(v.Wrong, "conversation "+channel+": "+wrong)
		}
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
