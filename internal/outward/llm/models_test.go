package llm

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

// TestModelsAreListedOnce: the configured model is among those that the service
// lists, and not twice.
func TestModelsAreListedOnce(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"data":[{"id":"fake-1"},{"id":"fake-2"}]}`)
	}))
	t.Cleanup(s.Close)
	for configured, want := range map[string][]string{"fake-1": {"fake-1", "fake-2"}, "own": {"own", "fake-1", "fake-2"}} {
		m, err := Open(Settings{Provider: OpenAI, URL: s.URL, Model: configured})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Models(t.Context(), m); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", configured, got, err)
		}
	}
}
