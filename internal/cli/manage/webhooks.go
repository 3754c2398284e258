package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
)

// WebhooksCmd is about who is told how a task goes.
type WebhooksCmd struct {
	Add        WebhooksAddCmd        `cmd:"" help:"Let a URL be told how a task goes; the same URL again replaces its secret."`
	List       WebhooksListCmd       `cmd:"" help:"List the webhooks of a task."`
	Remove     WebhooksRemoveCmd     `cmd:"" help:"End a webhook."`
	Deliveries WebhooksDeliveriesCmd `cmd:"" help:"List what a webhook was told, newest first."`
	Redeliver  WebhooksRedeliverCmd  `cmd:"" help:"Send a delivery once more, signed afresh."`
}

// WebhooksAddCmd registers a webhook.
type WebhooksAddCmd struct {
	oneTask
	URL    string `arg:"" help:"Where to send."`
	Secret string `env:"BEEOS_WEBHOOK_SECRET" placeholder:"SECRET" help:"Signs what is sent, 16 to 256 characters."`
	Token  string `env:"BEEOS_WEBHOOK_TOKEN" placeholder:"TOKEN" help:"Sent along as Authorization: Bearer."`
}

// Run prints the id.
func (c *WebhooksAddCmd) Run(ctx context.Context, t *terminal) error {
	cl, task, err := c.find(ctx)
	if err != nil {
		return err
	}
	w, err := cl.AddWebhook(ctx, task.AgentID, task.ID, client.WebhookRequest{URL: c.URL, Secret: c.Secret, Token: c.Token})
	if err != nil {
		return err
	}
	if c.JSON {
		return t.json(w)
	}
	_, err = fmt.Fprintln(t.out, w.ID)
	return err
}

// WebhooksListCmd lists the webhooks of a task.
type WebhooksListCmd struct{ oneTask }

// Run lists them.
func (c *WebhooksListCmd) Run(ctx context.Context, t *terminal) error {
	cl, task, err := c.find(ctx)
	if err != nil {
		return err
	}
	hooks, err := cl.Webhooks(ctx, task.AgentID, task.ID)
	if err != nil {
		return err
	}
	if c.JSON {
		return t.json(hooks)
	}
	rows := make([][]string, len(hooks))
	for i, w := range hooks {
		state := "active"
		if w.Disabled {
			state = "disabled"
		}
		rows[i] = []string{w.ID, w.URL, strconv.FormatBool(w.HasSecret), state, ago(w.CreatedAt)}
	}
	return t.table([]string{"WEBHOOK", "URL", "SIGNED", "STATE", "MADE"}, rows)
}

// oneWebhook is what the commands about one webhook have in common.
type oneWebhook struct {
	oneTask
	Webhook string `arg:"" help:"Id of the webhook, as beeos webhooks list shows it."`
}

// hint says where ids come from, to who has a wrong one.
func (c *oneWebhook) hint(err error) error {
	if err != nil && beeos.CodeOf(err) == beeos.NotFound {
		return hinted{errors.New("there is no such webhook or delivery"), "see which there are with: beeos webhooks list " + c.Task}
	}
	return err
}

// WebhooksRemoveCmd ends a webhook.
type WebhooksRemoveCmd struct{ oneWebhook }

// Run removes it.
func (c *WebhooksRemoveCmd) Run(ctx context.Context, _ *terminal) error {
	cl, task, err := c.find(ctx)
	if err != nil {
		return err
	}
	return c.hint(cl.RemoveWebhook(ctx, task.AgentID, task.ID, c.Webhook))
}

// WebhooksDeliveriesCmd lists deliveries.
type WebhooksDeliveriesCmd struct {
	oneWebhook
	Limit int `default:"20" help:"How many, at most 200."`
}

// Run lists them.
func (c *WebhooksDeliveriesCmd) Run(ctx context.Context, t *terminal) error {
	cl, task, err := c.find(ctx)
	if err != nil {
		return err
	}
	list, err := cl.Deliveries(ctx, task.AgentID, task.ID, c.Webhook, c.Limit)
	if err != nil {
		return c.hint(err)
	}
	return t.deliveries(list, c.JSON)
}

func (t *terminal) deliveries(list []client.Delivery, asJSON bool) error {
	if asJSON {
		return t.json(list)
	}
	rows := make([][]string, len(list))
	for i, d := range list {
		answer := ""
		if d.LastResponseStatus > 0 {
			answer = strconv.Itoa(d.LastResponseStatus)
		}
		rows[i] = []string{d.ID, d.Status, strconv.Itoa(d.AttemptNum), answer, ago(d.LastAttemptedAt), d.LastError}
	}
	return t.table([]string{"DELIVERY", "STATUS", "ATTEMPTS", "ANSWER", "TRIED", "ERROR"}, rows)
}

// WebhooksRedeliverCmd sends a delivery once more.
type WebhooksRedeliverCmd struct {
	oneWebhook
	Delivery string `arg:"" help:"Id of the delivery, as beeos webhooks deliveries shows it."`
}

// Run sends it.
func (c *WebhooksRedeliverCmd) Run(ctx context.Context, t *terminal) error {
	cl, task, err := c.find(ctx)
	if err != nil {
		return err
	}
	d, err := cl.Redeliver(ctx, task.AgentID, task.ID, c.Webhook, c.Delivery)
	if err != nil {
		return c.hint(err)
	}
	return t.deliveries([]client.Delivery{*d}, c.JSON)
}
