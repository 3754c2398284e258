package rest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

const maxReason = 1024

// listTaskMessages pages through what belongs to one task.
func (s *Surface) listTaskMessages(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	t, err := s.task(r, c)
	if err != nil {
		return err
	}
	return s.pageMessages(w, r, 500, func(since int64, limit int) ([]beeos.Message, error) {
		return s.Ledger.MessagesOf(r.Context(), t.Channel, t.Turn, since, limit)
	})
}

// streamTaskEvents follows one task from `since` to its terminal reply.
func (s *Surface) streamTaskEvents(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	st, err := s.taskEvents(r, c)
	if err == nil {
		s.follow(w, r, st)
	}
	return err
}

func (s *Surface) taskEvents(r *http.Request, c beeos.Caller) (*stream, error) {
	t, err := s.task(r, c)
	if err != nil {
		return nil, err
	}
	since, err := since(r)
	if err != nil {
		return nil, err
	}
	st := &stream{
		agent: t.AgentID, channel: t.Channel, since: since,
		events: s.Calls.WatchTurn(r.Context(), t.Channel, t.Turn, since>>offsetShift),
	}
	st.reason = func() string {
		if now, err := s.Calls.Task(r.Context(), t.Caller, t.Turn); err == nil && now.Done != nil {
			return "task_terminal"
		}
		return "stream_closed"
	}
	return st, nil
}

// cancelTask asks the agent to stop, and answers with what came of it: the
// agent has a few seconds to acknowledge, then the task ends without it. What
// has ended already stays as it is.
func (s *Surface) cancelTask(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	t, err := s.task(r, c)
	if err != nil {
		return err
	}
	var reason string
	if err := readMaybe(w, r, settingLimit, shape{"reason": &reason}); err != nil {
		return err
	}
	if utf8.RuneCountInString(reason) > maxReason {
		return beeos.Errorf(beeos.InvalidParam, "reason may have at most %d characters", maxReason)
	}
	if t.Done == nil {
		if err := s.Calls.Stop(r.Context(), t.Channel, t.Turn, reason); err != nil {
			return err
		}
		if t, err = s.task(r, c); err != nil {
			return err
		}
	}
	httpd.WriteData(w, http.StatusOK, viewTask(&t))
	return nil
}

// continueTask answers an agent that paused: with input, or with a grant.
func (s *Surface) continueTask(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	t, err := s.task(r, c)
	if err != nil {
		return err
	}
	var input json.RawMessage
	var grant *bool
	if err := read(w, r, messageLimit, true, shape{"input": &input, "auth_grant": &grant}); err != nil {
		return err
	}
	if len(input) == 0 && grant == nil {
		return beeos.Errorf(beeos.MissingParam, "give input for a task that is input_required, or auth_grant for one that is auth_required")
	}
	if t.Done != nil {
		return beeos.Errorf(beeos.Conflict, "the task is %s; start a new one", t.Status)
	}
	m := beeos.Message{Type: beeos.Continue, Channel: t.Channel, InReplyTo: t.Turn, Publisher: c.Principal(), Body: textOf(input)}
	if grant != nil {
		m.Type = beeos.AuthGrant
	}
	m.Payload, err = json.Marshal(struct {
		Input json.RawMessage `json:"input,omitempty"`
		Grant *bool           `json:"auth_grant,omitempty"`
	}{input, grant})
	if err != nil {
		return err
	}
	if _, err = s.Calls.Continue(r.Context(), m); err != nil {
		if beeos.CodeOf(err) == beeos.NotFound {
			return beeos.Errorf(beeos.Conflict, "the task has just ended; get it to see how")
		}
		return err
	}
	if t, err = s.task(r, c); err != nil {
		return err
	}
	httpd.WriteData(w, http.StatusOK, viewTask(&t))
	return nil
}

// textOf is input as an agent reads it that wants plain words: a string as it
// is, anything else as JSON.
func textOf(input json.RawMessage) string {
	if text, ok := strictjson.StringValue(input); ok {
		return text
	}
	if bytes.Equal(input, []byte("null")) {
		return ""
	}
	return string(input)
}
