package wire

import (
	"testing"

	"github.com/beeos/beeos/internal/wire/strictjson"
)

// TestResultSaysNothingTwice: what a stateless result says about itself is
// ours, also where the agent gave the whole of it.
func TestResultSaysNothingTwice(t *testing.T) {
	for method, agents := range map[string]string{
		"resources/read": `{"contents":[],"cacheScope":"public","ttlMs":9000,"resultType":"complete"}`,
		"tools/call":     `{"content":[],"resultType":"complete","_meta":{"trace":1}}`,
		"prompts/get":    `{"resultType":"complete","messages":[]}`,
	} {
		head, body := FrameResult(V20260728, &Message{ID: []byte("1"), Method: method}, []byte(`{"name":"a"}`), []byte(agents))
		whole := append(append(head, body...), '}')
		if err := strictjson.Check(whole); err != nil {
			t.Errorf("%s: %v: %s", method, err, whole)
		}
		if scope := string(strictjson.Field(strictjson.Field(whole, "result"), "cacheScope")); method == "resources/read" && scope != `"private"` {
			t.Errorf("%s may be kept by anybody: %s", method, whole)
		}
	}
}
