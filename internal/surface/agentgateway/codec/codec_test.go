package codec

import (
	"bytes"
	"testing"

	"github.com/beeos/beeos"
)

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"type":"reply","message_id":"x","body":"\u00e9","parts":[1],"payload":{},"is_error":true,"error":{"code":"a"},"progress":1.5}`))
	f.Add([]byte(`{"type":null,"error":[]}`))
	f.Add([]byte(`"`))
	f.Fuzz(func(t *testing.T, line []byte) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			return
		}
		var frame beeos.Frame
		if Decode(line, &frame) == nil && len(Encode(&frame)) == 0 {
			t.Errorf("%q cannot be encoded again", line)
		}
	})
}
