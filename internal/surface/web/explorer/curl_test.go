package explorer

import (
	"strings"
	"testing"
)

// TestCommandIsWhole: what is asked stands in the command to the last letter, also in
// a shell's eyes, or it is said that it does not; and all of it can be seen.
func TestCommandIsWhole(t *testing.T) {
	long := strings.Repeat("x", 5000) + "end"
	got, err := writeCommand("http://h/x", map[string]string{"message": long + `it's "so" ` + "\u202e\U000e0041é"})
	if err != nil || !strings.HasSuffix(got.Command, `xend`+`it'\''s \"so\" \u202e\udb40\udc41é"}'`) {
		t.Errorf("%v: %s", err, got.Command[len(got.Command)-60:])
	}
	if strings.Contains(got.Note, "•••") {
		t.Errorf("no secret: %s", got.Note)
	}
	if got, err = writeCommand("http://h/x", map[string]string{"pass": "•••"}); err != nil || !strings.Contains(got.Note, "in the place of •••") {
		t.Errorf("a secret: %v, %+v", err, got)
	}
	if got, err = writeCommand("http://h/x", map[string]string{"message": strings.Repeat("x", maxShown)}); err != nil || got.Command != "" || !strings.Contains(got.Note, "Replay") {
		t.Errorf("%v: %+v", err, got)
	}
}
