package talk

import (
	"context"
	"strconv"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/terminal"
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
func (c *WebhooksAddCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client, task *client.Task) error {
	w, err := cl.AddWebhook(ctx, task.AgentID, task.ID, client.WebhookRequest{URL: c.URL, Secret: c.Secret, Token: c.Token})
	if err != nil {
		return err
	}
	return t.PrintEither(c.JSON, w, w.ID)
}

// WebhooksListCmd lists the webhooks of a task.
type WebhooksListCmd struct{ oneTask }

// Run lists them.
func (c *WebhooksListCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client, task *client.Task) error {
	hooks, err := cl.Webhooks(ctx, task.AgentID, task.ID)
	if err != nil {
		return err
	}
	return terminal.PrintList(t, c.JSON, hooks, "WEBHOOK URL SIGNED STATE MADE", func(w *client.Webhook) []string {
		state := "active"
		if w.Disabled {
			state = "disabled"
		}
		return []string{w.ID, w.URL, strconv.FormatBool(w.HasSecret), state, terminal.Ago(w.CreatedAt)}
	})
}

// oneWebhook is what the commands about one webhook have in common.
type oneWebhook struct {
	oneTask
	Webhook string `arg:"" help:"Id of the webhook, as beeos webhooks list shows it."`
}

// addHint says where ids come from, to who has a wrong one.
func (c *oneWebhook) addHint(err error) error {
	return terminal.HintOn(beeos.NotFound, err, "there is no such webhook or delivery", "see which there are with: beeos webhooks list "+c.Task)
}

// WebhooksRemoveCmd ends a webhook.
type WebhooksRemoveCmd struct{ oneWebhook }

// Run removes it.
func (c *WebhooksRemoveCmd) Run(ctx context.Context, cl *client.Client, task *client.Task) error {
	return c.addHint(cl.RemoveWebhook(ctx, task.AgentID, task.ID, c.Webhook))
}

// WebhooksDeliveriesCmd lists deliveries.
type WebhooksDeliveriesCmd struct {
	oneWebhook
	Limit int `default:"20" help:"How many, at most 200."`
}

// Run lists them.
func (c *WebhooksDeliveriesCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client, task *client.Task) error {
	list, err := cl.Deliveries(ctx, task.AgentID, task.ID, c.Webhook, c.Limit)
	return c.printDeliveries(t, list, err)
}

// printDeliveries prints deliveries, or what kept us from getting them.
func (c *oneWebhook) printDeliveries(t *terminal.Terminal, list []client.Delivery, err error) error {
	if err != nil {
		return c.addHint(err)
	}
	return terminal.PrintList(t, c.JSON, list, "DELIVERY STATUS ATTEMPTS ANSWER TRIED ERROR", func(d *client.Delivery) []string {
		answer := ""
		if d.LastResponseStatus > 0 {
			answer = strconv.Itoa(d.LastResponseStatus)
		}
		return []string{d.ID, d.Status, strconv.Itoa(d.AttemptNum), answer, terminal.Ago(d.LastAttemptedAt), d.LastError}
	})
}

// WebhooksRedeliverCmd sends a delivery once more.
type WebhooksRedeliverCmd struct {
	oneWebhook
	Delivery string `arg:"" help:"Id of the delivery, as beeos webhooks deliveries shows it."`
}

// Run sends it.
func (c *WebhooksRedeliverCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client, task *client.Task) error {
	d, err := cl.Redeliver(ctx, task.AgentID, task.ID, c.Webhook, c.Delivery)
	if err != nil {
		return c.addHint(err)
	}
	return c.printDeliveries(t, []client.Delivery{*d}, nil)
}
