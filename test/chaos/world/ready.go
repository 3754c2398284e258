//go:build unix

package world

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Until waits for something to be so.
func Until(ctx context.Context, what string, so func() bool) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("this does not come: %s: %w", what, context.Cause(ctx))
		}
	}
	return nil
}

var errEnded = errors.New("it ended first")

// awaitReady waits until a server that has not ended answers that it is ready.
func awaitReady(ctx context.Context, url string, ended <-chan struct{}) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-ended:
			cancel(errEnded)
		case <-ctx.Done():
		}
	}()
	client := http.Client{Timeout: 2 * time.Second}
	return Until(ctx, url+" answers 200", func() bool {
		r, err := client.Get(url)
		if err != nil {
			return false
		}
		r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
}

// wait waits for so long; false when the context ends first.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
