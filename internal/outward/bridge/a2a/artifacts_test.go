package a2a

import (
	"errors"
	"strings"
	"testing"

	"github.com/beeos/beeos/internal/outward/bridge/a2a/peer"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// TestArtifacts: whatever a peer does to its artifacts, what was told is how the
// text begins, or nothing more is told.
func TestArtifacts(t *testing.T) {
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
		var a artifacts
		told := ""
		for _, s := range c.steps {
			piece, err := a.add(peer.Artifact{ID: s.id, Parts: []peer.Part{{Text: &s.text}}}, s.more)
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

// TestArtifactsAreBounded: neither many artifacts nor long ones fill the memory,
// and what was replaced does not count.
func TestArtifactsAreBounded(t *testing.T) {
	var many, long, again artifacts
	var err error
	for range maxArtifacts + 1 {
		_, err = many.add(peer.Artifact{ID: strings.Repeat("x", len(many.all))}, false)
	}
	if !errors.Is(err, peer.ErrTooLarge) {
		t.Errorf("many: %v", err)
	}
	words, piece := strings.Repeat("x", maxWords/2), strings.Repeat("x", upstream.MaxMessage/2)
	for range 3 {
		_, err = long.add(peer.Artifact{ID: "a", Parts: []peer.Part{{Text: &words}}}, true)
		if _, err := again.add(peer.Artifact{ID: "a", Parts: []peer.Part{{Raw: peer.Bytes(piece)}}}, false); err != nil {
			t.Errorf("again: %v", err)
		}
	}
	if !errors.Is(err, peer.ErrTooLarge) {
		t.Errorf("long: %v", err)
	}
}

// TestEmptyPartsCount: a peer cannot fill our memory with parts that hold
// nothing.
func TestEmptyPartsCount(t *testing.T) {
	var a artifacts
	for range 100 {
		if _, err := a.add(peer.Artifact{ID: "x", Parts: make([]peer.Part, 10_000)}, true); err != nil {
			return
		}
	}
	t.Errorf("%d parts are kept", len(a.files()))
}
