package channels

import (
	"fmt"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/test/pagetest"
)

func TestPageRendersEmptyOneAndMany(t *testing.T) {
	all := []outbox.Status{outbox.Pending, outbox.Failed, outbox.Succeeded, outbox.Dead}
	some := []notifications.Kind{notifications.Webhook, notifications.Email, notifications.Slack}
	channel := func(i int) *notifications.Channel {
		return &notifications.Channel{ID: fmt.Sprint("nch_", i), Kind: some[i%3], Target: "https://a.example/<b>?token=x", Disabled: i%5 == 1, CreatedAt: time.Now()}
	}
	pagetest.RenderAll(t, pagetest.NewServer(t, templates), templates, func(n int) map[string]any {
		return map[string]any{"channels": data{
			Kinds: map[string]bool{"webhook": true, "slack": true, "telegram": true, "email": n%2 == 0}, Email: "<ann>@example.com", Secret: []string{"", "whsec_<b>"}[n%2],
			Rows: pagetest.Repeat(n, func(i int) row { return newRow(channel(i), "<ann>@example.com") }),
			Sent: pagetest.Repeat(n, func(i int) sent {
				payload := `{"type":"approval.requested","approval":{"skill":"<b>","tool":"pay"}}`
				return newSent(&outbox.Delivery{ID: fmt.Sprint("nd_", i), Payload: []byte(payload), Status: all[i%4], Response: 500 * (i % 2), CreatedAt: time.Now()}, channel(i), "")
			}),
		}}
	}, map[string]string{"channels": "data-channel="})
}
