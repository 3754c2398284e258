package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"
)

// lines keeps what a peer writes.
type lines struct{ ch chan string }

func (l *lines) Write(_ context.Context, line []byte) error { l.ch <- string(line); return nil }
func (l *lines) TryWrite(line []byte)                       { l.ch <- string(line) }

func newPeer(t *testing.T, answer func(ctx context.Context, method string) (any, error)) (*Peer, *lines, chan struct{}) {
	t.Helper()
	out, gone := &lines{make(chan string, 200)}, make(chan struct{})
	p := New(Options{
		Line: out, Gone: gone, Log: slog.New(slog.DiscardHandler), Notice: func(string, json.RawMessage) {}, Babble: func() { close(gone) },
		Answer: func(ctx context.Context, method string, _ json.RawMessage) (any, error) { return answer(ctx, method) },
	})
	return p, out, gone
}

func TestCallsHaveTheirAnswers(t *testing.T) {
	p, out, gone := newPeer(t, nil)
	type result struct{ N int }
	call := func() (result, error) {
		var r result
		err := p.Call(t.Context(), "m", map[string]int{"a": 1}, &r)
		return r, err
	}
	answers := map[string]string{`{"id":1,"result":{"N":7}}`: "7 <nil>", `{"id":2,"error":{"code":-32000,"message":"no"}}`: "0 no", `{"id":3,"result":[]}`: "0 the program"}
	for i, line := range []string{`{"id":1,"result":{"N":7}}`, `{"id":2,"error":{"code":-32000,"message":"no"}}`, `{"id":3,"result":[]}`} {
		done := make(chan string, 1)
		go func() { r, err := call(); done <- fmt.Sprint(r.N, " ", err) }()
		if got, want := <-out.ch, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m","params":{"a":1}}`+"\n", i+1); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		p.Receive(t.Context(), []byte(line))
		p.Receive(t.Context(), []byte(line)) // twice: nobody waits for it
		if got := <-done; len(got) < len(answers[line]) || got[:len(answers[line])] != answers[line] {
			t.Errorf("%s: %s", line, got)
		}
	}
	if !p.SilentSince(time.Now().Add(time.Second)) || p.SilentSince(time.Now().Add(-time.Hour)) {
		t.Error("it does not know when it heard something")
	}
	go close(gone)
	if _, err := call(); err == nil {
		t.Error("somebody answered who is gone")
	}
}

// TestRequestsAreAnsweredAndTakenBack, as many at a time as are bearable.
func TestRequestsAreAnsweredAndTakenBack(t *testing.T) {
	p, out, gone := newPeer(t, func(ctx context.Context, method string) (any, error) {
		switch method {
		case "wait":
			<-ctx.Done()
			return nil, context.Cause(ctx)
		case "fail":
			return nil, &Error{Code: 5, Message: "no"}
		}
		return map[string]string{"said": method}, nil
	})
	for line, want := range map[string]string{
		`{"id":"x","method":"hi"}`:  `{"jsonrpc":"2.0","id":"x","result":{"said":"hi"}}`,
		`{"id":7,"method":"fail"}`:  `{"jsonrpc":"2.0","id":7,"error":{"code":5,"message":"no"}}`,
		`{"id":null,"method":"hi"}`: `{"jsonrpc":"2.0","id":null,"result":{"said":"hi"}}`,
	} {
		p.Receive(t.Context(), []byte(line))
		if got := <-out.ch; got != want+"\n" {
			t.Errorf("%s: %s", line, got)
		}
	}
	for i := range maxAnswering + 1 {
		p.Receive(t.Context(), fmt.Appendf(nil, `{"id":%d,"method":"wait"}`, i))
	}
	var m message
	if err := json.Unmarshal([]byte(<-out.ch), &m); err != nil || string(m.ID) != fmt.Sprint(maxAnswering) || m.Error == nil {
		t.Errorf("%+v, %v", m, err)
	}
	p.Receive(t.Context(), []byte(`{"method":"$/cancel_request","params":{"requestId":3}}`))
	if err := json.Unmarshal([]byte(<-out.ch), &m); err != nil || string(m.ID) != "3" || m.Error == nil {
		t.Errorf("%+v, %v", m, err)
	}
	close(gone)
	p.Wait()
}

func TestBabbleEndsIt(t *testing.T) {
	p, _, gone := newPeer(t, nil)
	for range maxStrange - 1 {
		p.Receive(t.Context(), []byte("la la la"))
	}
	p.Receive(t.Context(), []byte(`{"method":"known"}`)) // from here on it counts anew
	for range maxStrange {
		select {
		case <-gone:
			t.Fatal("it was ended too early")
		default:
		}
		p.Receive(t.Context(), []byte("la la la"))
	}
	<-gone
	if _, err := Params[struct{ N int }](json.RawMessage(`{"N":"x"}`)); !errors.As(err, new(*Error)) {
		t.Error(err)
	}
}
