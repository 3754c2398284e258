package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// misplaced returns the messages of a conversation that stand where they cannot. A
// conversation is a list to which each message is added at one moment between when
// it was sent and when its sender was answered, also where several speak at once: so
// none may stand behind one that was sent after its own answer. places are those of
// the messages, by their text.
func misplaced(ops []*Op, places map[string]int) (wrong []string) {
	inOrder := slices.SortedFunc(slices.Values(ops), func(a, b *Op) int { return cmp.Compare(places[a.Text], places[b.Text]) })
	var latest *Op // of those before, the one that was sent last
	for _, op := range inOrder {
		if latest != nil && op.Ended < latest.Sent {
			wrong = append(wrong, fmt.Sprintf("%s, answered after %s, stands behind %s, sent after %s",
				op.Text, op.Ended.Round(time.Millisecond), latest.Text, latest.Sent.Round(time.Millisecond)))
		}
		if latest == nil || op.Sent > latest.Sent {
			latest = op
		}
	}
	return wrong
}
