package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// serial in a request stands for a number that is another one each time.
const serial = "0000000000000000"

var serials atomic.Int64

// target is what to send, as bytes, and the text that a right answer holds.
// Connections share the requests out among themselves.
type target struct {
	addr     string
	requests [][]byte
	want     string
}

// acceptBoth is what MCP clients must accept.
const acceptBoth = "Accept: application/json, text/event-stream"

func post(addr, path, body, want string, headers ...string) target {
	var b strings.Builder
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%s\r\nContent-Length: %d\r\n", path, addr, acceptBoth, len(body))
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	b.WriteString("\r\n" + body)
	return target{addr: addr, requests: [][]byte{[]byte(b.String())}, want: want}
}

// sample is what one burst of load showed.
type sample struct {
	calls    int
	took     time.Duration
	p50, p99 time.Duration
	cpu      time.Duration // of the server, per call
}

func (s sample) perSecond() float64 { return float64(s.calls) / s.took.Seconds() }

// load keeps conns connections busy for d and checks every answer.
func load(ctx context.Context, t target, conns int, d time.Duration, server *process) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var mu sync.Mutex
	var all []time.Duration
	var failed error
	var group sync.WaitGroup
	cpu, start := server.cpu(), time.Now()
	for i := range conns {
		group.Go(func() {
			took, err := drive(ctx, t, t.requests[i%len(t.requests)])
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
			failed = errors.Join(failed, err)
		})
	}
	group.Wait()
	s := sample{calls: len(all), took: time.Since(start)}
	if failed != nil {
		return s, failed
	}
	if s.calls == 0 {
		return s, errors.New("no call was answered")
	}
	slices.Sort(all)
	s.p50, s.p99 = all[len(all)/2], all[len(all)*99/100]
	s.cpu = (server.cpu() - cpu) / time.Duration(s.calls)
	return s, nil
}

// drive sends the request over one connection, again and again.
func drive(ctx context.Context, t target, request []byte) (took []time.Duration, err error) {
	conn, err := net.Dial("tcp", t.addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	in := response{in: bufio.NewReader(conn)}
	want := []byte(t.want)
	request = bytes.Clone(request)
	number := bytes.Index(request, []byte(serial))
	for ctx.Err() == nil {
		if number >= 0 {
			copy(request[number:], fmt.Appendf(nil, "%0*d", len(serial), serials.Add(1)))
		}
		start := time.Now()
		if _, err := conn.Write(request); err != nil {
			return took, err
		}
		if err := in.read(); err != nil {
			return took, err
		}
		if !in.ok || !bytes.Contains(in.body, want) {
			return took, fmt.Errorf("wrong answer: %s", in.body)
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}
