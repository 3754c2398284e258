package webhooks

import (
	"fmt"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/store/outbox"
	hookstore "github.com/beeos/beeos/internal/store/webhooks"
	"github.com/beeos/beeos/test/pagetest"
)

func TestPageRendersEmptyOneAndMany(t *testing.T) {
	all := []outbox.Status{outbox.Pending, outbox.Failed, outbox.Succeeded, outbox.Dead}
	pagetest.RenderAll(t, pagetest.NewServer(t, templates), templates, func(n int) map[string]any {
		return map[string]any{"webhooks": data{Problems: n == 0, Older: "/webhooks?before=x", Newest: "/webhooks", Rows: pagetest.Repeat(n, func(i int) row {
			return newRow(&hookstore.Sent{
				Delivery: outbox.Delivery{ID: fmt.Sprint("whd_", i), Status: all[i%4], Attempts: i, Response: 500 * (i % 2), CreatedAt: time.Now()},
				Webhook:  hookstore.Webhook{Turn: "turn", Owner: []string{"me", "key:k"}[i%2], URL: "https://a.example/<b>?token=x", Disabled: i%5 == 1},
			}, "me")
		})}}
	}, map[string]string{"webhooks": "data-delivery="})
}
