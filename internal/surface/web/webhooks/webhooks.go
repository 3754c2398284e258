// Package webhooks is the part of the console that shows what was told to the
// webhooks of a person's tasks: what was taken, what is tried again and when, and
// what was given up, which can be sent once more.
package webhooks

import (
	"embed"
	"fmt"
	"net/url"
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
	ID          string
	Task        string // of the visitor's own; empty = of a key's
	To          string // where it goes, without what stands behind a question mark
	Form        string
	State, Mood string
	Attempts    int
	At, Next    time.Time
	Answer      string // of the last attempt
	Again       bool   // it can be sent once more
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

// states say how a delivery stands.
var states = map[outbox.Status]struct{ words, mood string }{
	outbox.Pending:   {"to be sent", "busy"},
	outbox.Failed:    {"will be tried again", "busy"},
	outbox.Succeeded: {"delivered", "good"},
	outbox.Dead:      {"given up", "bad"},
}

func newRow(s *hookstore.Sent, visitor string) row {
	said := states[s.Status]
	r := row{
		ID: s.ID, To: describeAddress(s.Webhook.URL), Form: s.Webhook.Renderer, State: said.words, Mood: said.mood,
		Attempts: s.Attempts, At: s.CreatedAt, Next: s.Due, Again: s.Status != outbox.Pending && !s.Webhook.Disabled,
	}
	if s.Webhook.Owner == visitor {
		r.Task = s.Webhook.Turn
	}
	switch {
	case s.Error != "":
		r.Answer = safetext.Line(s.Error, 200)
	case s.Response != 0:
		r.Answer = fmt.Sprintf("HTTP %d", s.Response)
	}
	if s.Webhook.Disabled {
		r.Answer += "; it wants no more"
	}
	return r
}

// describeAddress is where a webhook leads. People put keys behind the question
// mark, and names with passwords before the host.
func describeAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that cannot be read"
	}
	return safetext.Line((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), 120)
}

func (room *Room) redeliver(r *page.Request) (page.Answer, error) {
	_, err := room.Acts.RedeliverWebhook(r.Context(), r.Caller(), r.PathValue("delivery"))
	return page.Redirect("/webhooks", "redelivered"), err
}
