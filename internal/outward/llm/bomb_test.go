package llm

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
)

// TestBombsOfModelServicesStop: what is a megabyte on the wire and 1 GiB
// unpacked is not read, as an answer or as an error.
func TestBombsOfModelServicesStop(t *testing.T) {
	for name, status := range map[string]int{"an answer": 200, "an error": 400} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(status)
			z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
			chunk := bytes.Repeat([]byte("x"), 1<<20)
			for i, err := 0, error(nil); i < 1<<10 && err == nil; i++ {
				_, err = z.Write(chunk)
			}
			z.Close()
		}))
		for _, provider := range []string{OpenAI, Anthropic} {
			m, err := Open(Settings{Provider: provider, URL: s.URL, Model: "m-1"})
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = listen(t.Context(), m, conversation)
			runtime.ReadMemStats(&after)
			if n := (after.TotalAlloc - before.TotalAlloc) >> 20; err == nil || n > 600 {
				t.Errorf("%s of %s: %v, %d MiB were made", name, provider, err, n)
			}
		}
		s.CloseClientConnections()
		s.Close()
	}
}

// TestKeysStayWithTheService that they are for, when it redirects.
func TestKeysStayWithTheService(t *testing.T) {
	var seen http.Header
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header
		w.WriteHeader(http.StatusTeapot)
	}))
	defer other.Close()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer service.Close()
	for _, provider := range []string{OpenAI, Anthropic} {
		m, err := Open(Settings{Provider: provider, URL: service.URL, Model: "m-1", Key: "sk-secret"})
		if err != nil {
			t.Fatal(err)
		}
		seen = nil
		if _, err := listen(t.Context(), m, conversation); err == nil || seen == nil {
			t.Fatalf("%s: %v", provider, err)
		}
		if seen.Get("X-Api-Key")+seen.Get("Authorization") != "" {
			t.Errorf("%s: the key went along", provider)
		}
	}
}
