package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/surface/mcp/catalog"
	"github.com/beeos/beeos/internal/surface/mcp/stream"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

const floodDeltas = 8000

// floodText is the i-th delta of a flood: 100 bytes that say which.
func floodText(i int) string { return fmt.Sprintf("%0100d", i) }

// narrow serves the gateway over connections whose buffers are small, so that
// a reader who stops is noticed after kilobytes.
func (s *stack) narrow(t *testing.T) net.Addr {
	t.Helper()
	server := httptest.NewUnstartedServer(s.server.Config.Handler)
	server.Listener = narrowListener{server.Listener}
	server.Start()
	t.Cleanup(server.Close)
	return server.Listener.Addr()
}

type narrowListener struct{ net.Listener }

func (l narrowListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		err = c.(*net.TCPConn).SetWriteBuffer(16 << 10)
	}
	return c, err
}

// raw sends a request over a connection of its own, and leaves the answer
// there.
func (s *stack) raw(t *testing.T, to net.Addr, r *http.Request) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", to.String())
	s.must(err)
	t.Cleanup(func() { c.Close() })
	s.must(c.(*net.TCPConn).SetReadBuffer(32 << 10))
	s.must(r.Write(c))
	return c
}

// flood is a call whose agent says a lot.
func (s *stack) flood(t *testing.T) *http.Request {
	t.Helper()
	r := s.modernRequest(t.Context(), t, s.server.URL, "user", "tools/call", "slow", `{}`, `"name":"slow","arguments":{"how":"flood"}`)
	body, err := io.ReadAll(r.Body)
	s.must(err)
	text := strings.Replace(string(body), `"_meta":{`, `"_meta":{"progressToken":1,`, 1)
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	return r
}

// TestSlowReaderIsDropped: a reader that stops reading is dropped. Its agent is
// not told to stop, and finishes; others are not held up.
func TestSlowReaderIsDropped(t *testing.T) {
	s := newStack(t)
	s.gateway.opt.WriteWithin = 200 * time.Millisecond
	next := s.nextFrame()
	c := s.raw(t, s.narrow(t), s.flood(t))
	turn := <-next
	start := time.Now()
	if got := s.callIn(t, s.server.URL, s.handshake(t, "clerk", "user", `{}`), "stream", `{}`); field(got, "result") == "" || time.Since(start) > 5*time.Second {
		t.Errorf("another reader, after %v: %s", time.Since(start), got)
	}
	// Dropped: what was on the way can still be read, and then there is no
	// proper end. Reading slowly would keep it alive, so not before.
	s.until(t, "the call has lost its reader", func() bool { return s.ended("slow", "disconnected") })
	rest, err := io.ReadAll(c)
	if strings.HasSuffix(string(rest), "0\r\n\r\n") || strings.Contains(string(rest), `"result"`) {
		t.Errorf("the stream came to its end: %v", err)
	}
	close(s.later)
	s.waitTerminal(t, turn.MessageID, "flooded")
	messages, err := s.ledger.Messages(t.Context(), turn.ChannelID, 0, 10)
	s.must(err)
	for _, m := range messages {
		if m.Type == beeos.ChatCancel {
			t.Error("the agent was told to stop")
		}
	}
}

// TestDeltasRunTogether: what comes faster than it is read becomes fewer,
// larger notifications, in order and whole.
func TestDeltasRunTogether(t *testing.T) {
	s := newStack(t)
	next := s.nextFrame()
	c := s.raw(t, s.narrow(t), s.flood(t))
	turn := <-next
	<-s.flooded
	close(s.later)
	s.waitTerminal(t, turn.MessageID, "flooded")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	s.must(err)
	defer resp.Body.Close()
	events := bufio.NewScanner(resp.Body)
	events.Buffer(nil, 1<<20)
	var text strings.Builder
	last, count := 0.0, 0
	for {
		ev := nextEvent(t, events)
		if field(ev, "result") != "" {
			break
		}
		var p struct {
			Params struct {
				Progress float64
				Message  string
			}
		}
		s.must(json.Unmarshal(ev, &p))
		if p.Params.Progress <= last {
			t.Errorf("progress %v after %v", p.Params.Progress, last)
		}
		last = p.Params.Progress
		text.WriteString(p.Params.Message)
		count++
	}
	var want strings.Builder
	for i := range floodDeltas {
		want.WriteString(floodText(i))
	}
	if text.String() != want.String() || count > floodDeltas/4 {
		t.Errorf("%d bytes of %d in %d notifications", text.Len(), want.Len(), count)
	}
}

// TestSlowListener: a stream outside of calls is dropped as well, and what
// others hear does not wait for it.
func TestSlowListener(t *testing.T) {
	s := newStack(t)
	s.gateway.opt.WriteWithin = 200 * time.Millisecond
	session := s.handshake(t, "clerk", "user", `{}`)
	r, err := http.NewRequest(http.MethodGet, s.server.URL+"/"+s.agents["clerk"]+"/mcp", nil)
	s.must(err)
	r.Header = http.Header{"Accept": {"text/event-stream"}, "Authorization": {"Bearer " + s.keys["user"]}, wire.HeaderSession: {session}}
	s.raw(t, s.narrow(t), r)
	open := func() int { return s.gateway.opt.Auth.Streams.Count(s.owner.ID) }
	s.until(t, "the stream is open", func() bool { return open() == 1 })
	sealed, _ := s.gateway.sessions.OpenSession(s.agents["clerk"], "user:"+s.owner.ID, session)
	other := bufio.NewScanner(s.sessionStream(t.Context(), t, s.server.URL, session).Body)
	other.Buffer(nil, 1<<20)
	big := []byte(`{"jsonrpc":"2.0","method":"x","params":{"text":"` + strings.Repeat("x", 100_000) + `"}}`)
	for range 5 {
		s.bus.Control(bus.Control{Kind: bus.SessionMessage, ID: sealed.Channel, Data: big})
		if got := nextEvent(t, other); len(got) != len(big) {
			t.Errorf("the other heard %d bytes", len(got))
		}
	}
	s.until(t, "the slow one is dropped", func() bool { return open() == 1 })
}

// TestStreamsPerPrincipal: one credential cannot hold all streams of a replica.
func TestStreamsPerPrincipal(t *testing.T) {
	s := newStack(t)
	session := s.handshake(t, "clerk", "user", `{}`)
	var last *http.Response
	for range 100 {
		if last = s.sessionStream(t.Context(), t, s.server.URL, session); last.StatusCode != http.StatusOK {
			t.Fatal(last.Status)
		}
	}
	refused := s.sessionStream(t.Context(), t, s.server.URL, session)
	body, err := io.ReadAll(refused.Body)
	s.must(err)
	if refused.StatusCode != http.StatusTooManyRequests || refused.Header.Get("Retry-After") == "" || field(body, "error", "data", "code") != `"rate_limited"` || field(body, "error", "data", "retry_after_ms") == "" {
		t.Errorf("one more: %s %s", refused.Status, body)
	}
	if got := s.sessionStream(t.Context(), t, s.other.URL, session); got.StatusCode != http.StatusOK {
		t.Error("at another replica: ", got.Status)
	}
	last.Body.Close()
	s.until(t, "there is room again", func() bool {
		resp := s.sessionStream(t.Context(), t, s.server.URL, session)
		return resp.Header.Get("Content-Type") == "text/event-stream"
	})
}

// TestLongURI: what no template of a sane agent makes is not compared with all
// of them.
func TestLongURI(t *testing.T) {
	s := newStack(t)
	for n, want := range map[int]string{100: "", catalog.URIMax: "-32602"} {
		uri := "note://by/" + strings.Repeat("a", n)
		_, got := s.modern(t, s.server.URL, "user", "resources/read", uri, `{}`, `"uri":"`+uri+`"`)
		if code := field(got, "error", "code"); code != want {
			t.Errorf("%d letters: %.200s", n, got)
		}
	}
}

// TestListenToTooManyTasks: each id costs a look into the database, known or
// not, and nothing else limits them.
func TestListenToTooManyTasks(t *testing.T) {
	s := newStack(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for n, want := range map[int]string{stream.PendingMax: "", stream.PendingMax + 1: "-32602"} {
		ids := strings.Repeat(`"`+beeos.NewID()+`",`, n)
		resp := s.modernStream(ctx, t, s.server.URL, "user", "subscriptions/listen", "", `{"extensions":{"`+wire.TasksExtension+`":{}}}`,
			`"notifications":{"taskIds":[`+strings.TrimSuffix(ids, ",")+`]}`)
		var got []byte
		if resp.Header.Get("Content-Type") == "application/json" {
			body, err := io.ReadAll(resp.Body)
			s.must(err)
			got = body
		} else {
			got = nextEvent(t, bufio.NewScanner(resp.Body))
		}
		if code := field(got, "error", "code"); code != want {
			t.Errorf("%d tasks: %.200s", n, got)
		}
	}
}
