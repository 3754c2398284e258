package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strings"
)

// listPages yields the tasks or conversations that a listing holds, page by page.
func listPages[T any](ctx context.Context, c *Client, path string, q url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		q := maps.Clone(q)
		for {
			var page struct {
				Tasks, Conversations []T
				Next                 string `json:"next_since"`
			}
			if _, err := c.do(ctx, http.MethodGet, path+"?"+q.Encode(), nil, &page); err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range append(page.Tasks, page.Conversations...) {
				if !yield(item, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			q.Set("since", page.Next)
		}
	}
}

// streamEvent is one event of a stream: its name, which may be empty, and a JSON
// object.
type streamEvent struct {
	name string
	data []byte
}

// readEvents yields the events of a stream, or the answer which came instead of
// one.
func readEvents(r io.Reader) iter.Seq2[streamEvent, error] {
	return func(yield func(streamEvent, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, 0, 64<<10), maxAnswer)
		name := ""
		for lines.Scan() {
			line := lines.Text()
			if n, ok := strings.CutPrefix(line, "event:"); ok || line == "" {
				name = strings.TrimSpace(n)
				continue
			}
			data := strings.TrimSpace(strings.TrimPrefix(line, "data:"))
			if strings.HasPrefix(data, "{") && !yield(streamEvent{name, []byte(data)}, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(streamEvent{}, err)
		}
	}
}

// streamAnswer yields what read makes of the events of a response, up to the
// last. An empty event is not worth telling.
func streamAnswer[T any](resp *http.Response, err error, yield func(Event, error) bool, read func(T) (ev Event, last bool, err error)) {
	if err != nil {
		yield(Event{}, err)
		return
	}
	defer resp.Body.Close()
	for raw, err := range readEvents(resp.Body) {
		var in T
		if err == nil {
			err = json.Unmarshal(raw.data, &in)
		}
		if err != nil {
			yield(Event{}, fmt.Errorf("read the stream: %w", err))
			return
		}
		ev, last, err := read(in)
		if ev == (Event{}) && err == nil {
			continue
		}
		if !yield(ev, err) || last {
			return
		}
	}
	yield(Event{}, errors.New("the stream ended before the answer was complete"))
}
