package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAppendText(t *testing.T) {
	for _, s := range []string{"", "plain", "<a href=\"x\">&</a>", "line\nline\r\ttab\x00\x1f", `back\slash`, "é 漢 😀 \u2028", strings.Repeat("x", 5000)} {
		var got string
		if err := json.Unmarshal(AppendText(nil, s), &got); err != nil || got != s {
			t.Errorf("%q became %q (%v)", s, got, err)
		}
	}
	if got := string(AppendText(nil, "a\xffb")); got != `"a\ufffdb"` {
		t.Errorf("invalid UTF-8 became %s", got)
	}
}
