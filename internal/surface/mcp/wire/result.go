package wire

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/beeos/beeos/internal/wire/strictjson"
)

// FrameResult frames a request's result: head and body, to be followed by a
// brace. From 2026-07-28 on results say what they are, whose they are and how
// long they may be kept; ours do so before anything else. An agent that gave a
// whole result is not heard on that.
func FrameResult(v Version, m *Message, serverInfo, result []byte) (head, body []byte) {
	head = append(AppendResponseHead(make([]byte, 0, 64+len(m.ID)), m.ID), `,"result":`...)
	if !v.Stateless() {
		return head, result
	}
	head = append(head, '{')
	said := []string{"_meta"}
	if !bytes.HasPrefix(result, []byte(`{"resultType":`)) {
		head = append(head, `"resultType":"complete",`...)
		said = append(said, "resultType")
	}
	if ttl, ok := resultTTL[m.Method]; ok {
		said = append(said, "cacheScope", "ttlMs")
		head = fmt.Appendf(head, `"cacheScope":"private","ttlMs":%d,`, ttl)
	}
	head = append(head, `"_meta":{"`+metaServerInfo+`":`...)
	head = append(head, serverInfo...)
	for name, value := range strictjson.Fields(strictjson.Field(result, "_meta")) {
		if name != metaServerInfo {
			head = append(AppendText(append(head, ','), name), ':')
			head = append(head, value...)
		}
	}
	head = append(head, '}')
	isSaid := func(name string) bool { return slices.Contains(said, name) }
	repeats := false
	for name := range strictjson.Fields(result) {
		repeats = repeats || isSaid(name)
	}
	if body = result; repeats {
		body = PruneMembers(result, isSaid)
	}
	if len(body) > 2 {
		head = append(head, ',')
	}
	return head, body[1:]
}
