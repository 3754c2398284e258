// Package channels is the part of the console where a person says where they want to
// hear of approvals, and sees what was sent there and what was not taken.
package channels

import (
	"cmp"
	"embed"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/access/notify"
	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

//go:embed templates
var templates embed.FS

const here = "/approvals/channels"

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
	room.Pages.Handle("GET "+here, page.SignedIn, room.show)
	room.Pages.Handle("POST "+here, page.SignedIn, page.Form(room.create, room.show))
	room.Pages.Handle("POST "+here+"/{channel}/test", page.SignedIn, page.Form(room.test, room.show))
	room.Pages.Handle("POST "+here+"/{channel}/delete", page.SignedIn, page.Form(room.remove, room.show))
	room.Pages.Handle("POST "+here+"/{channel}/deliveries/{delivery}", page.SignedIn, page.Form(room.redeliver, room.show))
	room.Pages.Handle("GET "+here+"/{channel}/{form}", page.SignedIn, page.RedirectTo(here))
	room.Pages.Handle("GET "+here+"/{channel}/deliveries/{delivery}", page.SignedIn, page.RedirectTo(here))
	return room.Pages.AddTemplates(templates)
}

// perChannel is how many deliveries of a channel are shown.
const perChannel = 10

// data is the page.
type data struct {
	Rows   []row
	Sent   []sent
	Kinds  map[string]bool // that can be set up and are not one of a kind that is there
	Secret string          // of the channel that was just made
	Email  string          // the visitor's address
}

// row is one channel.
type row struct {
	ID, Kind, To string
	PressURL     string // to be entered at the service; "" = nowhere
	Disabled     bool
	Since        time.Time
}

// sent is one delivery.
type sent struct {
	page.Delivery
	Channel, To string
	What        string
	Again       bool
}

// kinds is what people call them.
var kinds = map[notifications.Kind]string{
	notifications.Webhook: "Webhook", notifications.Email: "E-mail", notifications.Slack: "Slack", notifications.Telegram: "Telegram",
}

func (room *Room) show(r *page.Request) (page.Answer, error) { return room.showWith(r, "") }

func (room *Room) showWith(r *page.Request, secret string) (page.Answer, error) {
	list, err := room.Acts.Channels(r.Context(), r.Caller())
	if err != nil {
		return nil, err
	}
	d := data{Kinds: map[string]bool{}, Secret: secret, Email: r.User.Email}
	for _, kind := range room.Acts.ChannelKinds() {
		d.Kinds[string(kind)] = true
	}
	for i := range list {
		c := &list[i]
		if c.Kind == notifications.Email {
			d.Kinds[string(c.Kind)] = false // a person has one address
		}
		line := newRow(c, r.User.Email)
		line.PressURL = room.Acts.ChannelPressURL(c)
		d.Rows = append(d.Rows, line)
		deliveries, err := room.Acts.ChannelDeliveries(r.Context(), r.Caller(), c.ID, perChannel)
		if err != nil {
			return nil, err
		}
		for j := range deliveries {
			d.Sent = append(d.Sent, newSent(&deliveries[j], c, r.User.Email))
		}
	}
	slices.SortStableFunc(d.Sent, func(a, b sent) int { return cmp.Compare(b.ID, a.ID) })
	return page.View{Page: "channels", Title: "Channels", Room: "approvals", Here: here, Data: d}, nil
}

func newRow(c *notifications.Channel, email string) row {
	return row{ID: c.ID, Kind: kinds[c.Kind], To: describeTarget(c, email), Disabled: c.Disabled, Since: c.CreatedAt}
}

// describeTarget is where a channel leads.
func describeTarget(c *notifications.Channel, email string) string {
	switch c.Kind {
	case notifications.Webhook:
		return safetext.Address(c.Target)
	case notifications.Email:
		return safetext.Line(email, 120)
	}
	return safetext.Line(c.Target, 120)
}

// said is what people call events.
var said = map[string]string{
	notify.ApprovalRequested: "asked about", notify.ApprovalReminder: "reminded of", notify.ApprovalDecided: "decided:", notify.ApprovalExpired: "ended:", notify.ChannelTest: "a test",
}

func newSent(d *outbox.Delivery, c *notifications.Channel, email string) sent {
	s := sent{
		Delivery: page.DescribeDelivery(d), Channel: c.ID, To: describeTarget(c, email), What: "something",
		Again: d.Status != outbox.Pending && !c.Disabled,
	}
	var told notify.Event
	if json.Unmarshal(d.Payload, &told) == nil && said[told.Type] != "" {
		s.What = said[told.Type]
		if told.Approval != nil {
			s.What = strings.TrimSpace(s.What + " " + safetext.Line(told.Approval.ToolName(), 80))
		}
	}
	return s
}

// create sets up the channel that the form describes. A secret that is made for it is
// shown this once.
func (room *Room) create(r *page.Request) (page.Answer, error) {
	_, made, err := room.Acts.CreateChannel(r.Context(), r.Caller(), notify.Setup{
		Kind: notifications.Kind(r.FormValue("kind")), URL: strings.TrimSpace(r.FormValue("url")), Secret: strings.TrimSpace(r.FormValue("secret")),
		To: strings.TrimSpace(r.FormValue("to")), Token: strings.TrimSpace(r.FormValue("token")),
	})
	if err != nil {
		return nil, err
	}
	if made != "" {
		return room.showWith(r, made)
	}
	return page.Redirect(here, "channel-made"), nil
}

func (room *Room) test(r *page.Request) (page.Answer, error) {
	_, err := room.Acts.TestChannel(r.Context(), r.Caller(), r.PathValue("channel"))
	return page.Redirect(here, "channel-tested"), err
}

func (room *Room) remove(r *page.Request) (page.Answer, error) {
	return page.Redirect(here, "channel-gone"), room.Acts.DeleteChannel(r.Context(), r.Caller(), r.PathValue("channel"))
}

func (room *Room) redeliver(r *page.Request) (page.Answer, error) {
	_, err := room.Acts.RedeliverToChannel(r.Context(), r.Caller(), r.PathValue("channel"), r.PathValue("delivery"))
	return page.Redirect(here, "redelivered"), err
}
