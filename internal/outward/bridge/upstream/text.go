package upstream

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"

	"github.com/beeos/beeos"
)

// MaxLine is how long a line from a program, or of a stream, may be.
const MaxLine = 4 << 20

// MaxMessage is how large one message from a server may be: twice of what an
// agent can pass on.
const MaxMessage = 8 << 20

// EncodeJSON is beeos.EncodeJSON for what cannot fail: strings, and JSON that
// was read before.
func EncodeJSON(v any) json.RawMessage {
	raw, _ := beeos.EncodeJSON(v)
	return raw
}

// Shorten shortens what goes into a log or an error.
func Shorten(s string) string { return beeos.Shorten(s, 200) }

// HideSecrets takes secrets out of what somebody else has written: an endpoint
// may repeat what it was sent.
func HideSecrets(text string, secrets ...string) string {
	for _, s := range secrets {
		if len(s) >= 4 {
			text = strings.ReplaceAll(text, s, "[hidden]")
		}
	}
	return text
}

// SecretsOf lists what a header may hold: values, and their last words, which
// is where credentials are.
func SecretsOf(h http.Header) (secrets []string) {
	for _, values := range h {
		for _, v := range values {
			secrets = append(secrets, v)
			if words := strings.Fields(v); len(words) > 1 {
				secrets = append(secrets, words[len(words)-1])
			}
		}
	}
	return secrets
}

// LineLog logs what a program writes, line by line.
type LineLog struct {
	Log  *slog.Logger
	Also func(line string) // nil = nobody else hears of it
	rest []byte
}

func (l *LineLog) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok && len(l.rest) < MaxLine {
			return len(b), nil
		}
		l.log(string(line))
		l.rest = rest
	}
}

func (l *LineLog) log(line string) {
	l.Log.Info(line)
	if l.Also != nil {
		l.Also(line)
	}
}

// Flush logs what was written after the last line.
func (l *LineLog) Flush() {
	if len(l.rest) > 0 {
		l.log(string(l.rest))
	}
	l.rest = nil
}
