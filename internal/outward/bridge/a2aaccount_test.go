package bridge

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// TestAccount: whatever a peer does to its artifacts, what was told is how the
// text begins, or nothing more is told.
func TestAccount(t *testing.T) {
	type step struct {
		id, text string
		more     bool
	}
	for name, c := range map[string]struct {
		steps      []step
		told, text string
	}{
		"pieces":                    {[]step{{"a", "one ", false}, {"a", "two", true}}, "one two", "one two"},
		"a piece before the whole":  {[]step{{"a", "one ", true}, {"a", "one two", false}}, "one two", "one two"},
		"replaced":                  {[]step{{"a", "yes", false}, {"a", "no", false}, {"a", " way", true}}, "yes", "no way"},
		"two":                       {[]step{{"a", "one", false}, {"b", "two", false}}, "one\n\ntwo", "one\n\ntwo"},
		"the first grows again":     {[]step{{"a", "one", false}, {"b", "two", false}, {"a", "!", true}}, "one\n\ntwo", "one!\n\ntwo"},
		"an empty one in between":   {[]step{{"a", "one", false}, {"b", "", false}, {"a", "!", true}}, "one!", "one!"},
		"the same again":            {[]step{{"a", "one", false}, {"a", "one", false}}, "one", "one"},
		"empty first":               {[]step{{"a", "", false}, {"b", "two", false}}, "two", "two"},
		"an empty one speaks later": {[]step{{"a", "", false}, {"b", "two", false}, {"a", "one", true}}, "two", "one\n\ntwo"},
	} {
		var a account
		told := ""
		for _, s := range c.steps {
			piece, err := a.add(peerArtifact{ID: s.id, Parts: []peerPart{{Text: &s.text}}}, s.more)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			told += piece
		}
		if told != c.told || a.text() != c.text || a.told.String() != told {
			t.Errorf("%s: told %q, want %q; text %q, want %q", name, told, c.told, a.text(), c.text)
		}
	}
}

// TestAccountIsBounded: neither many artifacts nor long ones fill the memory,
// and what was replaced does not count.
func TestAccountIsBounded(t *testing.T) {
	var many, long, again account
	var err error
	for range maxArtifacts + 1 {
		_, err = many.add(peerArtifact{ID: strings.Repeat("x", len(many.all))}, false)
	}
	if !errors.Is(err, errPeerHuge) {
		t.Errorf("many: %v", err)
	}
	words, piece := strings.Repeat("x", maxWords/2), strings.Repeat("x", maxMessage/2)
	for range 3 {
		_, err = long.add(peerArtifact{ID: "a", Parts: []peerPart{{Text: &words}}}, true)
		if _, err := again.add(peerArtifact{ID: "a", Parts: []peerPart{{Raw: piece}}}, false); err != nil {
			t.Errorf("again: %v", err)
		}
	}
	if !errors.Is(err, errPeerHuge) {
		t.Errorf("long: %v", err)
	}
}

func TestReadEvent(t *testing.T) {
	for text, want := range map[string]string{
		`{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_AUTH_REQUIRED"}}}`: "t c auth-required",
		`{"kind":"task","id":"t","contextId":"c","status":{"state":"input-required"}}`:      "t c input-required",
		`{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}`:                "t c working",
		`{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_FAILED"}}}`:            "t  failed",
		`{"kind":"artifact-update","taskId":"t","artifact":{"artifactId":"a"}}`:             "t  ",
		`{"message":{"messageId":"m","contextId":"c","parts":[]}}`:                          " c ",
		`{"kind":"message","messageId":"m","parts":[{"kind":"text","text":"x"}]}`:           "  ",
		`{"task":{"id":"","status":{}}}`:                                                    "", `{"task":{"id":"t"}}`: "", `{"statusUpdate":{}}`: "", `{"message":{}}`: "", `{}`: "", `[]`: "", `null`: "", `"x"`: "",
		`{"task":[]}`: "", `{"kind":"surprise","id":"t"}`: "",
	} {
		ev, err := readEvent(json.RawMessage(text))
		got := ""
		if err == nil {
			got = ev.Task + " " + ev.Context + " "
			if ev.Status != nil {
				got += ev.Status.State
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q (%v)", text, got, want, err)
		}
	}
}

func TestCardAccess(t *testing.T) {
	own := []string{"https://a.example.com/agents/7"}
	one := func(url, binding, version string) peerAccess {
		return peerAccess{URL: url, Binding: binding, Version: version}
	}
	for name, c := range map[string]struct {
		card peerCard
		want string
	}{
		"1.0 first":          {peerCard{Interfaces: []peerAccess{one("https://a.example.com/3", "JSONRPC", "0.3"), one("https://A.example.com:443/r", "HTTP+JSON", "1.0"), one("https://a.example.com/1", "JSONRPC", "1.0")}}, "https://a.example.com/1"},
		"0.3":                {peerCard{URL: "https://a.example.com/x"}, "https://a.example.com/x"},
		"0.3, another way":   {peerCard{URL: "https://a.example.com/g", Transport: "GRPC", Others: []peerAccess{{URL: "https://a.example.com/j", Transport: "JSONRPC"}}}, "https://a.example.com/j"},
		"gRPC alone":         {peerCard{Interfaces: []peerAccess{one("https://a.example.com", "GRPC", "1.0")}}, "names no way"},
		"elsewhere":          {peerCard{Interfaces: []peerAccess{one("http://169.254.169.254/latest", "JSONRPC", "1.0")}}, "another place"},
		"plain":              {peerCard{URL: "http://a.example.com/x"}, "another place"},
		"another port":       {peerCard{URL: "https://a.example.com:8443/x"}, "another place"},
		"somebody's name":    {peerCard{URL: "https://a.example.com@evil.example.com/x"}, "another place"},
		"no address":         {peerCard{URL: "::"}, "another place"},
		"nothing":            {peerCard{}, "names no way"},
		"own before another": {peerCard{Interfaces: []peerAccess{one("https://b.example.com", "JSONRPC", "1.0")}, URL: "https://a.example.com/x"}, "https://a.example.com/x"},
	} {
		a, err := c.card.access(own)
		if err == nil && a.URL != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v, want %q", name, a, err, c.want)
		}
	}
}

// TestEmptyPartsCount: a peer cannot fill our memory with parts that hold
// nothing.
func TestEmptyPartsCount(t *testing.T) {
	var a account
	for range 100 {
		if _, err := a.add(peerArtifact{ID: "x", Parts: make([]peerPart, 10_000)}, true); err != nil {
			return
		}
	}
	t.Errorf("%d parts are kept", len(a.files()))
}
