package upstream

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// MaxLine is how long a line from a program, or of a stream, may be.
const MaxLine = 4 << 20

// MaxMessage is how large one message from a server may be.
const MaxMessage = 16 << 20

// EncodeJSON is json.Marshal that leaves <, > and & as they are.
func EncodeJSON(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil // it is made of strings and of JSON that was read before
	}
	return bytes.TrimSpace(b.Bytes())
}

// Shorten shortens what goes into a log or an error.
func Shorten(s string) string { return ShortenTo(s, 200) }

// ShortenTo cuts s after n bytes, between two characters.
func ShortenTo(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

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
