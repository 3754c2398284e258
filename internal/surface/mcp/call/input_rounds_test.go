package call

import (
	"testing"

	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// FuzzRound: whatever a client brings back, it is refused or it is an answer.
func FuzzRound(f *testing.F) {
	for _, seed := range []string{`{"a":{}}`, `{"a":5}`, `null`, `[]`, `{"a":{"b":[1]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if strictjson.Check(raw) != nil {
			return
		}
		input, err := wire.ReadInput(raw)
		for key, value := range input {
			if err == nil && wire.Kind(value) != '{' {
				t.Errorf("%q: %s", key, value)
			}
		}
	})
}
