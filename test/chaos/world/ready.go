//go:build unix

package world

import (
	"context"
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

func awaitReady(ctx context.Context, url string) error {
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
