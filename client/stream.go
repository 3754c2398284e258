package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strings"
)

// pages yields the tasks or conversations that a listing holds, page by page.
func pages[T any](ctx context.Context, c *Client, path string, q url.Values) iter.Seq2[T, error] {
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

// streamLines returns a scanner of the lines of an event stream.
func streamLines(r io.Reader) *bufio.Scanner {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxAnswer)
	return lines
}

// readEvents yields the JSON objects of an event stream, or that of the answer
// which came instead of one.
func readEvents[T any](r io.Reader) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		lines := streamLines(r)
		for lines.Scan() {
			data := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "data:"))
			if !strings.HasPrefix(data, "{") {
				continue
			}
			var ev T
			if err := json.Unmarshal([]byte(data), &ev); err != nil {
				yield(ev, fmt.Errorf("read the stream: %w", err))
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(*new(T), fmt.Errorf("read the stream: %w", err))
		}
	}
}
