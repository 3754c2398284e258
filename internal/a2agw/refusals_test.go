package a2agw_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestGuessedKeys: whoever tries one key after the other is told to slow down,
// here as on the other surfaces.
func TestGuessedKeys(t *testing.T) {
	s := start(t)
	status := 0
	for range 301 {
		resp := s.open(t.Context(), "POST", s.url, strings.NewReader(`{}`), "Authorization", "Bearer bak_"+strings.Repeat("0", 64))
		resp.Body.Close()
		if status = resp.StatusCode; status != http.StatusUnauthorized {
			break
		}
	}
	if status != http.StatusTooManyRequests {
		t.Errorf("the last of many unknown keys got %d", status)
	}
	if got := s.rpc("ListTasks", `{}`); got["error"] != nil {
		t.Errorf("a good key from the same address: %v", got)
	}
}
