package compare_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/beeos/beeos/internal/engine/sight/compare"
)

func TestAnswersAreTheSame(t *testing.T) {
	type answer struct{ text, parts, payload string }
	read := func(a answer) compare.Answer {
		return compare.Read(a.text, json.RawMessage(a.parts), json.RawMessage(a.payload))
	}
	for name, c := range map[string]struct {
		a, b answer
		same bool
	}{
		"text":                          {answer{text: "a b"}, answer{text: "a b"}, true},
		"a space more in a text":        {answer{text: "a b"}, answer{text: "a  b"}, false},
		"members in another order":      {answer{text: `{"a":1,"b":[1,2]}`}, answer{text: "{ \"b\": [1, 2],\n\"a\": 1 }"}, true},
		"a list in another order":       {answer{text: `[1,2]`}, answer{text: `[2,1]`}, false},
		"numbers that floats mix up":    {answer{text: `{"n":9007199254740993}`}, answer{text: `{"n":9007199254740992}`}, false},
		"a number is a text":            {answer{text: "1"}, answer{text: "1 "}, false},
		"results":                       {answer{payload: `{"result":{"x":1,"y":2}}`}, answer{payload: `{"result":{"y":2,"x":1}}`}, true},
		"another result":                {answer{payload: `{"result":{"x":1}}`}, answer{payload: `{"result":{"x":2}}`}, false},
		"no result":                     {answer{payload: `{"result":{"x":1}}`}, answer{}, false},
		"what is remembered":            {answer{text: "a", payload: `{"memory":1,"_meta":{"t":1}}`}, answer{text: "a", payload: `{"memory":2}`}, true},
		"the same file":                 {answer{parts: `[{"type":"file","file_id":"1","url":"http://x/1","name":"a","size":3}]`}, answer{parts: `[{"type":"file","file_id":"2","url":"http://x/2","name":"a","size":3}]`}, true},
		"a file of another size":        {answer{parts: `[{"type":"file","file_id":"1","name":"a","size":3}]`}, answer{parts: `[{"type":"file","file_id":"2","name":"a","size":4}]`}, false},
		"a file elsewhere, not kept":    {answer{parts: `[{"type":"file","url":"http://x/1"}]`}, answer{parts: `[{"type":"file","url":"http://x/2"}]`}, false},
		"other ways to the same answer": {answer{text: "a", parts: `[{"type":"tool_use","id":"1"}]`}, answer{text: "a"}, true},
		"what is no JSON":               {answer{text: "{a", payload: "x"}, answer{text: "{a"}, true},
	} {
		if got := read(c.a) == read(c.b); got != c.same {
			t.Errorf("%s: the same: %v\n%s\n%s", name, got, read(c.a), read(c.b))
		}
	}
}

func TestTextsSideBySide(t *testing.T) {
	var b strings.Builder
	for _, c := range compare.Texts("1\n2\n3\n4\nthe old line\nend", "1\n2\n3\n4\nthe new line\nend\nmore") {
		for _, side := range [][]compare.Span{c.Was, c.Is} {
			for _, s := range side {
				if s.Mark {
					b.WriteString("[" + s.Text + "]")
				} else {
					b.WriteString(s.Text)
				}
			}
			b.WriteString("|")
		}
	}
	if got, want := b.String(), "||3|3|4|4|the [old] line|the [new] line|end|end||[more]|"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
