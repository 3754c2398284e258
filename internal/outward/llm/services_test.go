package llm

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// serveModels is a service that lists models, and answers with its own name, the
// model that was asked for and the key that was shown.
func serveModels(t *testing.T, name string, models ...string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			if models == nil {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"data":[{"id":"%s"}]}`, strings.Join(models, `"},{"id":"`))
			return
		}
		body := make([]byte, 1024)
		n, _ := r.Body.Read(body)
		_, rest, _ := strings.Cut(string(body[:n]), `"model":"`)
		model, _, _ := strings.Cut(rest, `"`)
		if model == "away" {
			http.Error(w, "no", http.StatusNotImplemented)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":\"%s says %s to %s\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", name, model, r.Header.Get("Authorization"))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func writeServices(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), ServicesFile)
	for file, content := range map[string]string{path: text, filepath.Join(filepath.Dir(path), "b.key"): "key-of-b\n"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// TestSeveralServices: a model's name says which service is asked, each with its own
// key, and names with slashes of the main service stay its own.
func TestSeveralServices(t *testing.T) {
	main, err := Open(Settings{URL: serveModels(t, "main", "big", "vendor/small"), Model: "big", Key: "key-of-main"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := OpenServices(main, writeServices(t, fmt.Sprintf(`{
		"b": {"provider": "openai", "url": %q, "key_file": "b.key", "models": ["one", "two"]},
		"c": {"url": %q}
	}`, serveModels(t, "b"), serveModels(t, "c"))))
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]string{
		"":             "main says big to Bearer key-of-main",
		"vendor/small": "main says vendor/small to Bearer key-of-main",
		"b/two":        "b says two to Bearer key-of-b",
		"b/three":      `error: the model service b has no model "three"; models.json lists one, two`,
		"c/any/thing":  "c says any/thing to ",
	} {
		got := ""
		for d, err := range m.Stream(t.Context(), Request{Model: model}) {
			if got += d.Text; err != nil {
				got = "error: " + err.Error()
			}
		}
		if got != want {
			t.Errorf("%q: %s; want %s", model, got, want)
		}
	}
	known, err := Models(t.Context(), m)
	if want := []string{"big", "vendor/small", "b/one", "b/two"}; err != nil || !slices.Equal(known, want) {
		t.Errorf("models: %v, %v; want %v", known, err, want)
	}
	for model, want := range map[string]bool{"big": false, "huge": true, "b/one": false, "b/three": true, "c/any": false} {
		if got := Lacks(known, model); got != want {
			t.Errorf("Lacks(%s) = %v", model, got)
		}
	}
	if provider, name := Describe(m, "b/two"); provider != OpenAI || name != "two" {
		t.Errorf("b/two is %s of %s", name, provider)
	}
	if _, name := Describe(m, ""); name != "big" {
		t.Errorf("the main model is %s", name)
	}
}

func TestServicesFileComplains(t *testing.T) {
	for text, says := range map[string]string{
		`[]`: "it should read", `{"A": {}}`: "no name for a service", `{"a": {"key": "sk-secret"}}`: `unknown field "key"`,
		`{"a": {"key_file": "none"}}`: "read its key", `{"a": {"provider": "x"}}`: "no model provider", `{"a": {}, "a": {}}`: "a",
	} {
		_, err := OpenServices(nil, writeServices(t, text))
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if m, err := OpenServices(nil, filepath.Join(t.TempDir(), ServicesFile)); m != nil || err != nil {
		t.Errorf("without a file: %v, %v", m, err)
	}
	m, err := OpenServices(nil, writeServices(t, `{"a": {}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range m.Stream(t.Context(), Request{}) {
		if err == nil || !strings.Contains(err.Error(), "LLM_PROVIDER") {
			t.Errorf("no main service: %v", err)
		}
	}
}
