package history

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/store"
)

// TestStoredFinds: what the database holds and should not is found, and nothing
// where all is well.
func TestStoredFinds(t *testing.T) {
	const (
		request = `INSERT INTO messages (channel, off, id, type, in_reply_to, terminal, state, stop_reason, publisher, body, parts, payload, created_at) VALUES `
		usage   = `INSERT INTO usage (route, day, model, slot, answers, input, output, micros, unpriced) VALUES `

		said   = `('c', 1, 'q1', 'chat_message', '', false, '', '', 'u', 'keyed said 1', '', '', 0), ('c', 3, 'q2', 'chat_message', '', false, '', '', 'u', 'keyed said 2', '', '', 0)`
		done   = `('c', 2, 'a1', 'agent_reply', 'q1', true, '', '', 'a', '', '', '', 0), ('c', 4, 'a2', 'agent_reply', 'q2', true, '', '', 'a', '', '', '', 0)`
		summed = `(1, 1, 'chaos', 1, 1, 10, 1, 0, 0), (1, 1, 'chaos', 2, 1, 10, 1, 0, 0)`
	)
	for _, c := range []struct {
		name string
		rows []string
		sent [2]time.Duration // when the first and the second one were sent; each is answered a second later
		want string           // empty = nothing
	}{
		{"all is well", []string{request + said, request + done, usage + summed}, [2]time.Duration{1 * time.Second, 3 * time.Second}, ""},
		{"stored the other way round", []string{request + said, request + done, usage + summed}, [2]time.Duration{3 * time.Second, 1 * time.Second}, "wrong: conversation c: keyed said 2, answered after 2s, stands behind keyed said 1"},
		{"no end", []string{request + said, request + strings.Split(done, "), (")[0] + ")", usage + `(1, 1, 'chaos', 1, 1, 10, 1, 0, 0)`}, [2]time.Duration{1 * time.Second, 3 * time.Second}, "lost: request without an end: q2"},
		{"not stored", nil, [2]time.Duration{1 * time.Second, 3 * time.Second}, "lost: keyed said 1 was answered and is not in conversation c"},
		{"an answer that is not counted", []string{request + said, request + done, usage + `(1, 1, 'chaos', 1, 1, 10, 1, 0, 0)`}, [2]time.Duration{1 * time.Second, 3 * time.Second}, "wrong: usage that is not what the answers took: sums of 1 answers"},
		{"tokens that are counted twice", []string{request + said, request + done, usage + `(1, 1, 'chaos', 1, 2, 30, 2, 0, 0)`}, [2]time.Duration{1 * time.Second, 3 * time.Second}, "sums of 2 answers, 30 tokens read and 2 said, of 2 answers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			db, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "beeos.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for _, rows := range c.rows {
				if _, err := db.ExecContext(t.Context(), rows); err != nil {
					t.Fatal(err)
				}
			}
			h := &History{}
			for i, text := range []string{"keyed said 1", "keyed said 2"} {
				h.Ops = append(h.Ops, &Op{Text: text, Kind: Overlap, Channel: "c", Outcome: OK, Sent: c.sent[i], Ended: c.sent[i] + time.Second})
			}
			v := &Verdict{}
			if err := h.CheckStored(t.Context(), db, v); err != nil {
				t.Fatal(err)
			}
			got := v.Problems(10)
			var own []string // verify has more to say about rows that stand alone
			for _, line := range strings.Split(got, "\n") {
				if line != "" && !strings.HasPrefix(line, "wrong: verify") {
					own = append(own, line)
				}
			}
			if !strings.Contains(got, c.want) || (len(own) > 0) != (c.want != "") {
				t.Errorf("found %q, want %q", own, c.want)
			}
		})
	}
}
