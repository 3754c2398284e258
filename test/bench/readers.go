package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// reading is what the process of readers is told to do.
type reading struct {
	Addr, Path string
	Keys       []string // shared out among the streams
	Streams    int
	Tool       string        // whose call they wait on; empty = the GET stream of a session
	Task       bool          // the events of a task each; Path is where tasks are made
	For        time.Duration // how long delays are noted, once all are open; 0 = not at all
}

// delays is what the readers saw: how long after the agent had said something
// it was there, and how late their own timers were meanwhile: a machine that
// is busy with other things is late with everything.
type delays struct {
	Events        int
	P50, P99, Max time.Duration
	Timer         time.Duration // p99
}

// openAtOnce is how many streams may be on their way to be opened.
const openAtOnce = 256

// readers opens a session and a stream for each reader, says "open" once all
// of them are, then what they saw, and holds them until it is told to end.
func readers(ctx context.Context) error {
	var r reading
	if err := json.Unmarshal([]byte(os.Getenv("BEEOS_BENCH_READING")), &r); err != nil {
		return err
	}
	var opening errgroup.Group
	opening.SetLimit(openAtOnce)
	all := make([]*reader, r.Streams)
	for i := range all {
		opening.Go(func() (err error) {
			all[i], err = r.open(r.Keys[i%len(r.Keys)])
			return err
		})
	}
	if err := opening.Wait(); err != nil {
		return err
	}
	fmt.Println("open")
	if r.For > 0 {
		seen, err := listen(all, r.For)
		if err != nil {
			return err
		}
		out, err := json.Marshal(seen)
		if err != nil {
			return err
		}
		fmt.Println(string(out))
	}
	<-ctx.Done()
	return nil
}

// reader is one client with a session and a stream, on one connection.
type reader struct {
	conn net.Conn
	in   *bufio.Reader
	took []time.Duration
}

// open begins a session and returns when its stream is there: for a call, when
// the first event is.
func (r *reading) open(key string) (*reader, error) {
	conn, err := net.Dial("tcp", r.Addr)
	if err != nil {
		return nil, err
	}
	x := &reader{conn: conn, in: bufio.NewReader(conn)}
	if r.Task {
		return x, r.openTask(x, key)
	}
	answer := response{in: x.in}
	session, err := handshake(conn, &answer, r.Addr, r.Path, key)
	if err != nil {
		return nil, err
	}
	headers := []string{"Authorization: Bearer " + key, "Mcp-Session-Id: " + session, "Mcp-Protocol-Version: 2025-11-25"}
	request := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n%s\r\n%s\r\n%s\r\n\r\n", r.Path, r.Addr, headers[0], headers[1], headers[2])
	if r.Tool != "" {
		request = post(r.Addr, r.Path, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"`+r.Tool+`","_meta":{"progressToken":1}}}`, "", headers...).requests[0]
	}
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	if _, _, err := answer.head(); err != nil || !answer.ok {
		return nil, errors.Join(errors.New("the stream was refused"), err)
	}
	if r.Tool != "" {
		_, err = x.next()
	}
	return x, err
}

// handshake begins a session.
func handshake(conn net.Conn, answer *response, addr, path, key string) (session string, err error) {
	const body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	if _, err := conn.Write(post(addr, path, body, "", "Authorization: Bearer "+key).requests[0]); err != nil {
		return "", err
	}
	if err := answer.read(); err != nil {
		return "", err
	}
	if !answer.ok || len(answer.session) == 0 {
		return "", fmt.Errorf("no session: %s", answer.body)
	}
	return string(answer.session), nil
}

// listen notes for so long how late every event comes that was said from now
// on; what came while others were still being opened has waited for them.
func listen(all []*reader, d time.Duration) (delays, error) {
	from := time.Now()
	var reading errgroup.Group
	for _, x := range all {
		reading.Go(func() error { return x.note(from, from.Add(d)) })
	}
	timer := lateness(from.Add(d))
	err := reading.Wait()
	var took []time.Duration
	for _, x := range all {
		took = append(took, x.took...)
	}
	if err != nil || len(took) == 0 {
		return delays{}, errors.Join(errors.New("not every stream brought events"), err)
	}
	slices.Sort(took)
	return delays{len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1], timer}, nil
}

// lateness is the p99 of how late a timer is that should ring every 10 ms.
func lateness(until time.Time) time.Duration {
	var late []time.Duration
	for due := time.Now(); due.Before(until); due = due.Add(10 * time.Millisecond) {
		<-time.After(time.Until(due))
		late = append(late, time.Since(due))
	}
	slices.Sort(late)
	return late[len(late)*99/100]
}

func (x *reader) note(from, until time.Time) error {
	if err := x.conn.SetReadDeadline(until); err != nil {
		return err
	}
	for {
		said, err := x.next()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && len(x.took) > 0:
			return nil
		case err != nil:
			return err
		}
		if said.After(from) {
			x.took = append(x.took, time.Since(said))
		}
	}
}

var saidAt = []byte(`"message":"`)

// next waits for the next progress and returns when the agent said it; the
// zero time if it did not say when.
func (x *reader) next() (time.Time, error) {
	for {
		line, err := x.in.ReadSlice('\n')
		if err != nil {
			return time.Time{}, err
		}
		_, text, ok := bytes.Cut(line, saidAt)
		if !ok {
			continue
		}
		digits, _, _ := bytes.Cut(text, []byte(" "))
		nanos, _ := strconv.ParseInt(string(digits), 10, 64)
		return time.Unix(0, nanos), nil
	}
}
