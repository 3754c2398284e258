package calls

import (
	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// isApprovalStep reports whether an event says that a person is to decide about
// a tool call, or has decided.
func isApprovalStep(ev *beeos.Event) bool {
	return ev.Kind == beeos.EventProgress && (ev.Method == beeos.ApprovalRequested || ev.Method == beeos.ApprovalDecided)
}

// approvalSteps are those that a stream has told. A request is repeated on the
// bus as long as it waits, for those who join; a stream tells it once.
type approvalSteps map[string]bool

// repeats reports whether the stream has told the step before, and notes it.
func (told *approvalSteps) repeats(ev *beeos.Event) bool {
	if !isApprovalStep(ev) {
		return false
	}
	id, _ := strictjson.StringField(ev.Data, "id")
	step := ev.Method + " " + id
	if (*told)[step] {
		return true
	}
	if *told == nil {
		*told = approvalSteps{}
	}
	(*told)[step] = true
	return false
}
