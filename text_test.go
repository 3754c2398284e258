package beeos_test

import (
	"testing"

	"github.com/beeos/beeos"
)

func TestVisible(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain text, Grüße, 漢字 🐝\n\tnext", "plain text, Grüße, 漢字 🐝\n\tnext"},
		{"\x1b[31mred", "⟨U+001B⟩[31mred"},
		{"pay\u202egnp.exe", "pay⟨U+202E⟩gnp.exe"},
		{"a\u200bb\u2066c\ufeffd", "a⟨U+200B⟩b⟨U+2066⟩c⟨U+FEFF⟩d"},
		{"nbsp\u00a0 line\u2028sep", "nbsp⟨U+00A0⟩ line⟨U+2028⟩sep"},
		{"blank\u3164\u2800", "blank⟨U+3164⟩⟨U+2800⟩"},
		{"tag\U000e0041 variant\ufe0f", "tag⟨U+E0041⟩ variant⟨U+FE0F⟩"},
		{"\r\x00\x7f\u0085", "⟨U+000D⟩⟨U+0000⟩⟨U+007F⟩⟨U+0085⟩"},
		{"joined\u034f", "joined⟨U+034F⟩"},
		{"broken \xff", "broken \uFFFD"},
	} {
		if got := beeos.Visible(c.in); got != c.want {
			t.Errorf("Visible(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestShortenCutsBetweenCharacters(t *testing.T) {
	for _, c := range []struct {
		in   string
		most int
		want string
	}{{"short", 5, "short"}, {"longer", 4, "long…"}, {"Grüße", 3, "Gr…"}} {
		if got := beeos.Shorten(c.in, c.most); got != c.want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", c.in, c.most, got, c.want)
		}
	}
}

func TestEncodeJSONEscapesNoHTML(t *testing.T) {
	if got, err := beeos.EncodeJSON(map[string]string{"a": "<b> & c"}); err != nil || string(got) != `{"a":"<b> & c"}` {
		t.Errorf("encoded as %s, %v", got, err)
	}
	if _, err := beeos.EncodeJSON(func() {}); err == nil {
		t.Error("a function was encoded")
	}
}
