package web

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/store/agents"
)

// event is one event of a stream.
type event struct{ id, data string }

// follow opens a stream and returns its events as they come.
func (b *browser) follow(ctx context.Context, path, last string) <-chan event {
	t := b.k.t
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.k.web+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range b.cookies[req.URL.Host] {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s is %d %s", path, res.StatusCode, res.Header.Get("Content-Type"))
	}
	events := make(chan event, 16)
	go func() { // ends with the stream
		defer res.Body.Close()
		defer close(events)
		var e event
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			switch line := lines.Text(); {
			case strings.HasPrefix(line, "id: "):
				e.id = line[4:]
			case strings.HasPrefix(line, "data: "):
				e.data += line[6:] + "\n"
			case line == "" && e.id != "":
				events <- e
				e = event{}
			}
		}
	}()
	return events
}

func next(t *testing.T, events <-chan event) event {
	t.Helper()
	select {
	case e, ok := <-events:
		if !ok {
			t.Fatal("the stream ended")
		}
		return e
	case <-time.After(10 * time.Second):
		t.Fatal("no event came")
	}
	return event{}
}

// A stream sends whole states: the present one at once, a new one when it has
// changed, and nothing to a browser that has it already.
func TestStreamsSendStates(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	a := k.agents(ann, 1)[0]
	b := k.signedIn(ann)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events := b.follow(ctx, "/agents/live", "")
	first := next(t, events)
	if !strings.Contains(first.data, `data-agent="`+a.ID+`"`) || !strings.Contains(first.data, "offline") {
		t.Errorf("the first state is %s", first.data)
	}
	same := b.follow(ctx, "/agents/live", first.id)
	off := false
	if _, err := k.db.Agents.Update(t.Context(), a.ID, agents.Patch{MCPEnabled: &off}); err != nil {
		t.Fatal(err)
	}
	k.site.WakeStreams()
	for _, stream := range []<-chan event{events, same} {
		if e := next(t, stream); e.id == first.id || !strings.Contains(e.data, "MCP off") {
			t.Errorf("the next state is %s", e.data)
		}
	}

	if err := k.people.EndSessions(t.Context(), ann.ID); err != nil {
		t.Fatal(err)
	}
	k.site.WakeStreams()
	for e := range events { // until the server ends it
		t.Logf("one more: %s", e.id)
	}
	if res := b.get("/agents/live"); res.status != http.StatusSeeOther {
		t.Errorf("signed out, the stream answers %d", res.status)
	}
}
