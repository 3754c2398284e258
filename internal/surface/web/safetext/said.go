package safetext

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/beeos/beeos"
)

// Text is what somebody said, with what is hidden in it spelled out, up to so many
// bytes of it; cut = there is more.
func Text(s string, most int) (list []Piece, cut bool) {
	if cut = len(s) > most; cut {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return Pieces(beeos.Visible(s)), cut
}

// JSON is Text for JSON, which it puts on several lines. There is nothing to show
// of null.
func JSON(raw json.RawMessage, most int) (list []Piece, cut bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, false
	}
	var b bytes.Buffer
	if len(raw) > most || json.Indent(&b, raw, "", "  ") != nil {
		return Text(string(raw), most)
	}
	return Pieces(beeos.Visible(strings.ToValidUTF8(b.String(), ""))), false
}
