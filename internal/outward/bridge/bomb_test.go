package bridge_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge/httpbridge"
	"github.com/beeos/beeos/internal/outward/bridge/openai"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
)

// bombs are answers that are a megabyte of gzip and unpack to 1 GiB, by the
// word that asks for them.
var bombs = map[string]struct {
	kind, pattern string
	status        int
}{
	"bomb-json":   {"application/json", " ", 200},
	"bomb-event":  {"text/event-stream", "x", 200},
	"bomb-lines":  {"text/event-stream", "data: xxxxxxxxxxxxxxxxxxxxxxxx\n", 200},
	"bomb-stream": {"text/event-stream", ": nothing to say, nothing to say, nothing to say\n\n", 200},
	"bomb-error":  {"application/json", " ", 500},
}

func serveBombs(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	for word, b := range bombs {
		if !bytes.Contains(body, []byte(word)) {
			continue
		}
		w.Header().Set("Content-Type", b.kind)
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(b.status)
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		chunk := bytes.Repeat([]byte(b.pattern), 1<<20/len(b.pattern))
		for i, err := 0, error(nil); i < 1<<10 && err == nil; i++ {
			_, err = z.Write(chunk)
		}
		z.Close()
	}
}

// TestBombsBehindBridgesStop at the limit of an answer, and the caller learns
// why there is none.
func TestBombsBehindBridgesStop(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	endpoint := httptest.NewServer(http.HandlerFunc(serveBombs))
	t.Cleanup(func() {
		endpoint.CloseClientConnections()
		endpoint.Close()
	})
	agents := map[string]string{
		"http": bridgetest.Connect(t, app, &bridgetest.Journal{}, "http", func(ctx context.Context, o agent.Options) error {
			return (&httpbridge.Options{URL: endpoint.URL}).Run(ctx, settings.Bridge{Agent: o})
		}),
		"openai": bridgetest.Connect(t, app, &bridgetest.Journal{}, "openai", func(ctx context.Context, o agent.Options) error {
			return (&openai.Options{URL: endpoint.URL, Model: "tiny"}).Run(ctx, settings.Bridge{Agent: o})
		}),
	}
	c := client.New(app.REST, app.UserKey)
	for name, id := range agents {
		for word, b := range bombs {
			t.Run(name+" "+word, func(t *testing.T) {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				got, err := c.Invoke(t.Context(), id, client.InvokeRequest{Message: word})
				runtime.ReadMemStats(&after)
				if err != nil || !got.IsError {
					t.Fatalf("%+v, %v", got, err)
				}
				whole := name == "http" || word == "bomb-json" || word == "bomb-event" // go-openai gives up on the others sooner
				if b.status == 200 && whole && !strings.Contains(got.Text, "too long") && !strings.Contains(got.Text, "longer than") {
					t.Errorf("it says %q", got.Text)
				}
				if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 300 {
					t.Errorf("%d MiB were made", n)
				}
			})
		}
	}
}
