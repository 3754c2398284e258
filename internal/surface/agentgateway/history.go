package agentgateway

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const (
	historyPage    = 200
	maxHistoryPage = 500
)

type messageList struct {
	Messages []beeos.Message `json:"messages"`
	HasMore  bool            `json:"has_more"`
}

// listMessages lists the messages of a channel to the instance that serves its
// agent, from where it was cleared on. To any other the channel does not exist.
func (s *Surface) listMessages(w http.ResponseWriter, r *http.Request, inst beeos.Instance, _ []byte) error {
	since, badSince := intParam(r, "since", 0)
	limit, badLimit := intParam(r, "limit", historyPage)
	if err := cmp.Or(badSince, badLimit); err != nil {
		return err
	}
	limit = min(max(limit, 1), maxHistoryPage)
	id := r.PathValue("channel")
	ch, err := s.Ledger.Channel(r.Context(), id)
	if err != nil {
		return err
	}
	_, serves, err := s.Agents.List(r.Context(), agents.Filter{InstanceID: inst.ID, IDs: []string{ch.AgentID}, Limit: 1})
	if err != nil {
		return err
	}
	if serves == 0 {
		return beeos.Errorf(beeos.NotFound, "there is no channel %q for the agents of this instance", id)
	}
	ms, err := s.Ledger.Messages(r.Context(), id, max(since, ch.Cleared), int(limit)+1) // one more tells whether there are more
	if err != nil {
		return err
	}
	list := messageList{Messages: []beeos.Message{}, HasMore: len(ms) > int(limit)}
	list.Messages = append(list.Messages, ms[:min(len(ms), int(limit))]...)
	httpd.WriteData(w, http.StatusOK, list)
	return nil
}

func intParam(r *http.Request, name string, fallback int64) (int64, error) {
	given := r.URL.Query().Get(name)
	if given == "" {
		return fallback, nil
	}
	n, err := strconv.ParseInt(given, 10, 64)
	if err != nil || n < 0 {
		return 0, beeos.Errorf(beeos.InvalidParam, "%s must be a number from 0 on", name)
	}
	return n, nil
}
