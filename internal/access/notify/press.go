package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/engine/courier"
	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/wire/outbound"
)

// press is a button that somebody has pressed.
type press struct {
	approval string
	choice   string // approve or reject; anything else decides nothing
	byOwner  bool   // it was the channel's own person
	reply    func(text string) any
}

// buttons are senders whose messages can be pressed.
type buttons interface {
	// readPress takes a request of the service, and refuses any other.
	readPress(c *notifications.Channel, kept secrets, header http.Header, body []byte) (p press, ok bool)
}

// Press takes what a service posts when a button of a message is pressed, and returns
// what the service wants to hear. Whoever is not that service learns nothing, not even
// that there is such a channel.
func (n *Notifier) Press(ctx context.Context, channelID string, header http.Header, body []byte) (answer any, err error) {
	unknown := beeos.Errorf(beeos.NotFound, "there is no such channel, or this does not come from its service; set the channel up again")
	c, err := n.opt.Table.Get(ctx, channelID)
	if beeos.CodeOf(err) == beeos.NotFound {
		return nil, unknown
	}
	if err != nil {
		return nil, err
	}
	by, ok := n.senders[c.Kind].(buttons)
	if !ok {
		return nil, unknown
	}
	var kept secrets
	if err := n.sealer.OpenJSON(c.Sealed, c.ID, &kept); err != nil {
		return nil, fmt.Errorf("the secrets of channel %s cannot be decrypted: %w", c.ID, err)
	}
	p, ok := by.readPress(&c, kept, header, body)
	if !ok {
		return nil, unknown
	}
	said, err := n.decide(ctx, &c, &p)
	return p.reply(said), err
}

// decide decides what was pressed, as the channel's person and by no more than that:
// an admin's channel decides about their own approvals alone.
func (n *Notifier) decide(ctx context.Context, c *notifications.Channel, p *press) (said string, err error) {
	switch {
	case !p.byOwner:
		return "These buttons are for somebody else.", nil
	case p.choice != "approve" && p.choice != "reject":
		return "", nil
	}
	owner, err := n.opt.People.GetUser(ctx, c.OwnerID)
	if err != nil {
		return "", err
	}
	owner.Admin = false
	by := approval.Decider{User: owner, Via: string(c.Kind)}
	a, err := n.opt.Approvals.Find(ctx, p.approval, by)
	if err == nil && p.choice == "approve" && n.newEvent(ctx, a).Approval.Shortened { // no button says so, and nobody else may
		return "There is more of it than a message shows; open the link to decide.", nil
	}
	if err == nil {
		a, err = n.opt.Approvals.Decide(ctx, p.approval, by, p.choice == "approve", "")
	}
	switch beeos.CodeOf(err) {
	case beeos.Conflict, beeos.NotFound, beeos.Forbidden:
		return beeos.Public(err).Message, nil
	}
	if err != nil {
		return "", err
	}
	if a.Open() {
		return fmt.Sprintf("Counted: %d of %d said yes.", a.Yes, a.Need), nil
	}
	return strings.ToUpper(string(a.State[:1])) + string(a.State[1:]) + ".", nil
}

// pressURL is where a service posts what is pressed in messages of a channel.
func (o *Options) pressURL(c *notifications.Channel) string {
	return strings.TrimRight(o.REST, "/") + "/api/v1/notification-channels/" + c.ID + "/presses"
}

// PressURL is where the service of a channel has to post what is pressed; "" = the
// channel has no buttons, or its service was told.
func (n *Notifier) PressURL(c *notifications.Channel) string {
	if c.Kind != notifications.Slack {
		return ""
	}
	return n.opt.pressURL(c)
}

// callAPI posts JSON to a service and reads its answer, also that of a refusal.
func callAPI(ctx context.Context, client *http.Client, now func() time.Time, address, authorization string, post, answer any) courier.Outcome {
	body, err := beeos.EncodeJSON(post)
	if err != nil {
		return courier.Outcome{Err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return courier.Outcome{Err: fmt.Errorf("the token cannot be used; set the channel up again"), Final: true} // the error has it
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("User-Agent", "BeeOS/"+beeos.Version)
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := client.Do(req)
	if err != nil {
		return courier.Outcome{Err: fmt.Errorf("%s", courier.PublicReason(err))}
	}
	defer resp.Body.Close()
	came := courier.Outcome{Response: resp.StatusCode}
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		came.Err = fmt.Errorf("the service answered %d, and no JSON", resp.StatusCode)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		came.Wait, _ = outbound.RetryAfter(resp.Header, now())
		came.Err = fmt.Errorf("the service answered %d", resp.StatusCode)
	}
	return came
}
