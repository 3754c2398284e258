// Package webhooks is the part of the console that shows what was told to the
// webhooks of a person's tasks: what was taken, what is tried again and when, and
// what was given up, which can be sent once more.
package webhooks

import (
	"embed"
	"time"

	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/store/outbox"
	hookstore "github.com/beeos/beeos/internal/store/webhooks"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

//go:embed templates
var templates embed.FS

// Options is what the room stands on.
type Options struct {
	Pages *page.Server
	Acts  *act.Acts
}

// Room serves the page.
type Room struct{ Options }

// Mount adds the template and routes to the console.
func Mount(opt Options) error {
	room := &Room{opt}
	room.Pages.Handle("GET /webhooks", page.SignedIn, room.show)
	room.Pages.Handle("GET /webhooks/live", page.SignedIn, page.Live(room.show))
	room.Pages.Handle("POST /webhooks/{delivery}/redeliver", page.SignedIn, page.Form(room.redeliver, room.show))
	room.Pages.Handle("GET /webhooks/{delivery}/{form}", page.SignedIn, page.RedirectTo("/webhooks"))
	return room.Pages.AddTemplates(templates)
}

const perPage = 50

// data is a page of deliveries.
type data struct {
	Rows          []row
	Problems      bool   // only those that were not taken are shown
	Older, Newest string // addresses of other pages; empty = there is none
}

// row is one delivery.
type row struct {
	page.Delivery
	Task     string // of the visitor's own; empty = of a key's
	To       string // where it goes, without what stands behind a question mark
	Form     string
	Attempts int
	Next     time.Time
	Again    bool // it can be sent once more
}

func (room *Room) show(r *page.Request) (page.Answer, error) {
	before, problems := r.URL.Query().Get("before"), r.URL.Query().Get("only") == "problems"
	found, err := room.Acts.WebhookDeliveries(r.Context(), r.Caller(), hookstore.SentFilter{Problems: problems, Before: before, Limit: perPage + 1})
	if err != nil {
		return nil, err
	}
	d, view := data{Problems: problems}, page.View{Page: "webhooks", Title: "Webhooks", Room: "webhooks", Here: "/webhooks"}
	only := ""
	if problems {
		only = "problems"
	}
	if before == "" { // what is older changes little
		view.Live = page.Address("/webhooks/live", "only", only)
	} else {
		d.Newest = page.Address("/webhooks", "only", only)
	}
	if len(found) > perPage {
		found = found[:perPage]
		d.Older = page.Address("/webhooks", "only", only, "before", found[perPage-1].ID)
	}
	for i := range found {
		d.Rows = append(d.Rows, newRow(&found[i], r.Caller().Principal()))
	}
	view.Data = d
	return view, nil
}

func newRow(s *hookstore.Sent, visitor string) row {
	r := row{
		Delivery: page.DescribeDelivery(&s.Delivery), To: safetext.Address(s.Webhook.URL), Form: s.Webhook.Renderer,
		Attempts: s.Attempts, Next: s.Due, Again: s.Status != outbox.Pending && !s.Webhook.Disabled,
	}
	if s.Webhook.Owner == visitor {
		r.Task = s.Webhook.Turn
	}
	if s.Webhook.Disabled {
		r.Answer += "; it wants no more"
	}
	return r
}

func (room *Room) redeliver(r *page.Request) (page.Answer, error) {
	_, err := room.Acts.RedeliverWebhook(r.Context(), r.Caller(), r.PathValue("delivery"))
	return page.Redirect("/webhooks", "redelivered"), err
}
