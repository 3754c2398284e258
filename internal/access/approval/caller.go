package approval

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// A caller may decide about the tool calls of its own agents, and of those that it
// reviews, by the form that its program shows or by a word in the conversation.
// Nothing that an agent, a tool or a model says comes this way: what counts is an
// answer to the one question, under the caller's own credential.

const (
	viaMCP          = "mcp"
	viaConversation = "conversation"

	decideWithin = 10 * time.Second
)

// CallerDecision is what a caller said about an approval that it was offered.
type CallerDecision struct {
	offer   Offer
	via     string
	approve bool
	reason  string
}

// ReadForm reads what the caller's person answered to a form. One that was
// closed or could not be shown decides nothing, and ok is false: others may
// decide.
func (o Offer) ReadForm(answer []byte) (d CallerDecision, ok bool) {
	var body struct {
		Result struct {
			Action  string `json:"action"`
			Content struct {
				Approve *bool  `json:"approve"`
				Reason  string `json:"reason"`
			} `json:"content"`
		} `json:"result"`
	}
	if json.Unmarshal(answer, &body) != nil {
		return d, false
	}
	switch r := body.Result; {
	case r.Action == "accept" && r.Content.Approve != nil:
		return CallerDecision{o, viaMCP, *r.Content.Approve, r.Content.Reason}, true
	case r.Action == "decline":
		return CallerDecision{o, viaMCP, false, "declined"}, true
	}
	return d, false
}

// ReadWords reads a user.continue frame in a conversation where approvals are
// on offer. verdict is false when the words are no verdict at all. A verdict
// decides, and d is not nil, when it is by the person to whom exactly one of
// the offers was made: of several, one must be named.
func ReadWords(offers []Offer, frame []byte) (d *CallerDecision, verdict bool) {
	said, _ := strictjson.StringValue(strictjson.Field(frame, "body"))
	word, id, reason := parseVerdict(said)
	if word == "" {
		return nil, false
	}
	publisher, _ := strictjson.StringValue(strictjson.Field(frame, "publisher_id"))
	var meant []Offer
	for _, o := range offers {
		if publisher == "user:"+o.userID && (id == "" || id == o.ApprovalID) {
			meant = append(meant, o)
		}
	}
	if len(meant) != 1 {
		return nil, true
	}
	return &CallerDecision{meant[0], viaConversation, word == "approve", reason}, true
}

// parseVerdict reads "approve", "reject", either with the approval's id, and
// "reject: why". Anything else is no verdict.
func parseVerdict(said string) (word, id, reason string) {
	head, reason, _ := strings.Cut(said, ":")
	fields := strings.Fields(strings.ToLower(head))
	switch {
	case len(fields) == 0 || len(fields) > 2 || fields[0] != "approve" && fields[0] != "reject":
		return "", "", ""
	case fields[0] == "approve" && strings.TrimSpace(reason) != "":
		return "", "", ""
	case len(fields) == 2:
		id = fields[1]
	}
	return fields[0], id, strings.TrimSpace(reason)
}

// DecideForCaller carries out what a caller said, unless somebody else was
// faster.
func (s *Approvals) DecideForCaller(d CallerDecision) {
	ctx, cancel := context.WithTimeout(context.Background(), decideWithin)
	defer cancel()
	user, err := s.People.GetUser(ctx, d.offer.userID)
	if err == nil {
		_, err = s.Decide(ctx, d.offer.ApprovalID, Decider{User: user, Via: d.via}, d.approve, d.reason)
	}
	if err != nil && beeos.CodeOf(err) != beeos.Conflict {
		s.Log.Warn("a caller's decision was not taken", "approval", d.offer.ApprovalID, "err", err)
	}
}
