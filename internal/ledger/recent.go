package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos"
)

// Recent is one request to an agent, without what was said.
type Recent struct {
	Turn     string
	Channel  string
	AgentID  string
	Caller   string // a Caller.Principal
	Protocol string // mcp, rest, a2a, web
	Method   string // empty = a message
	Tool     string
	At       time.Time
	Outcome  beeos.MessageType // the terminal reply's; empty while the agent works
	Reason   string            // the terminal reply's stop reason
	Took     time.Duration     // 0 while the agent works
}

const (
	// recentPrefix is how much of a request's payload is read. A Call begins
	// with its protocol, method and tool; arguments may be a megabyte.
	recentPrefix = 512
	// recentKept is how many of the longest-kept channels are looked through
	// for requests that came after the channel was made.
	recentKept = 500
)

// Recent returns the newest requests to these agents, newest first. What it
// costs depends on limit and on how many agents there are, not on how much
// the ledger holds.
func (l *Ledger) Recent(ctx context.Context, agents []string, limit int) ([]Recent, error) {
	channels, err := l.recentChannels(ctx, agents, limit)
	if err != nil {
		return nil, fmt.Errorf("find recent channels: %w", err)
	}
	list, err := l.recentRequests(ctx, channels, limit)
	if err != nil {
		return nil, fmt.Errorf("read recent requests: %w", err)
	}
	if err := l.recentOutcomes(ctx, list); err != nil {
		return nil, fmt.Errorf("read recent outcomes: %w", err)
	}
	return list, nil
}

// recentChannel is a channel in which something happened lately.
type recentChannel struct {
	id, agent string
	updated   int64
}

// recentChannels finds the newest channels of each agent by channels_agent,
// and older ones that are still talked in by channels_idle.
func (l *Ledger) recentChannels(ctx context.Context, agents []string, limit int) ([]recentChannel, error) {
	const newest = `SELECT id, agent_id, updated_at FROM (SELECT id, agent_id, updated_at FROM channels WHERE agent_id = ? ORDER BY created_at DESC LIMIT `
	const kept = `SELECT id, agent_id, updated_at FROM (SELECT id, agent_id, updated_at FROM channels WHERE NOT single_shot ORDER BY updated_at DESC LIMIT `
	found := map[string]recentChannel{}
	scan := func(rows *sql.Rows) error {
		var c recentChannel
		if err := rows.Scan(&c.id, &c.agent, &c.updated); err != nil {
			return err
		}
		found[c.id] = c
		return nil
	}
	for part := range slices.Chunk(agents, maxRows) {
		if err := l.union(ctx, newest+strconv.Itoa(limit)+`) AS c`, part, scan); err != nil {
			return nil, err
		}
		query := kept + strconv.Itoa(recentKept) + `) AS c WHERE agent_id IN (` + listOf.from(len(part), 1) + `)`
		if err := l.rows(ctx, query, part, scan); err != nil {
			return nil, err
		}
	}
	list := make([]recentChannel, 0, len(found))
	for _, c := range found {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b recentChannel) int {
		return cmp.Or(cmp.Compare(b.updated, a.updated), strings.Compare(b.id, a.id))
	})
	return list[:min(len(list), limit)], nil
}

func (l *Ledger) recentRequests(ctx context.Context, channels []recentChannel, limit int) ([]Recent, error) {
	query := `SELECT channel, id, publisher, head, created_at FROM (SELECT channel, id, publisher, substr(payload, 1, ` + strconv.Itoa(recentPrefix) +
		`) AS head, created_at FROM messages WHERE channel = ? AND type = '` + string(beeos.ChatMessage) + `' ORDER BY off DESC LIMIT ` + strconv.Itoa(limit) + `) AS m`
	agent := map[string]string{}
	var ids []string
	for _, c := range channels {
		agent[c.id] = c.agent
		ids = append(ids, c.id)
	}
	var list []Recent
	for part := range slices.Chunk(ids, maxRows) {
		err := l.union(ctx, query, part, func(rows *sql.Rows) error {
			var r Recent
			var head string
			var at int64
			if err := rows.Scan(&r.Channel, &r.Turn, &r.Caller, &head, &at); err != nil {
				return err
			}
			r.AgentID, r.At = agent[r.Channel], fromMicros(at)
			r.Protocol, r.Method, r.Tool = callHead(head)
			list = append(list, r)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b Recent) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(b.Turn, a.Turn))
	})
	return list[:min(len(list), limit)], nil
}

// recentOutcomes fills in how the requests ended.
func (l *Ledger) recentOutcomes(ctx context.Context, list []Recent) error {
	at := map[string]*Recent{}
	var turns []string
	for i := range list {
		at[list[i].Turn] = &list[i]
		turns = append(turns, list[i].Turn)
	}
	for part := range slices.Chunk(turns, maxRows) {
		query := `SELECT in_reply_to, type, stop_reason, created_at FROM messages WHERE terminal AND in_reply_to IN (` + listOf.from(len(part), 1) + `)`
		err := l.rows(ctx, query, part, func(rows *sql.Rows) error {
			var turn, reason string
			var outcome beeos.MessageType
			var end int64
			if err := rows.Scan(&turn, &outcome, &reason, &end); err != nil {
				return err
			}
			if r := at[turn]; r != nil {
				r.Outcome, r.Reason, r.Took = outcome, reason, fromMicros(end).Sub(r.At)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// callHead reads the first members of a Call out of the beginning of its JSON,
// which breaks off anywhere.
func callHead(text string) (protocol, method, tool string) {
	dec := json.NewDecoder(strings.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return "", "", ""
	}
	for {
		name, err := dec.Token()
		if err != nil {
			return protocol, method, tool
		}
		value, err := dec.Token()
		s, ok := value.(string)
		if err != nil || !ok {
			return protocol, method, tool // arguments, or the end
		}
		switch name {
		case "protocol":
			protocol = s
		case "method":
			method = s
		case "tool":
			tool = s
		}
	}
}

// union runs part, which has one ?, once per value as one statement, so that
// each gets a LIMIT of its own.
func (l *Ledger) union(ctx context.Context, part string, values []string, scan func(*sql.Rows) error) error {
	texts := make([]string, len(values))
	for i := range values {
		texts[i] = strings.Replace(part, "?", "$"+strconv.Itoa(i+1), 1)
	}
	return l.rows(ctx, strings.Join(texts, " UNION ALL "), values, scan)
}

func (l *Ledger) rows(ctx context.Context, query string, values []string, scan func(*sql.Rows) error) error {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	rows, err := l.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
