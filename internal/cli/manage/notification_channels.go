package manage

import (
	"cmp"
	"context"
	"strconv"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// ChannelsCmd is about where people hear of approvals.
type ChannelsCmd struct {
	Add        ChannelsAddCmd        `cmd:"" help:"Be told somewhere when a tool call waits for you, and how it ended."`
	List       ChannelsListCmd       `cmd:"" help:"List where you are told."`
	Test       ChannelsTestCmd       `cmd:"" help:"Send something that asks for nothing."`
	Deliveries ChannelsDeliveriesCmd `cmd:"" help:"List what a channel was told, newest first."`
	Redeliver  ChannelsRedeliverCmd  `cmd:"" help:"Send a delivery once more."`
	Remove     ChannelsRemoveCmd     `cmd:"" help:"End a channel."`
}

// ChannelsAddCmd sets up a channel.
type ChannelsAddCmd struct {
	Email    ChannelsAddEmailCmd    `cmd:"" help:"The address of your account."`
	Slack    ChannelsAddSlackCmd    `cmd:"" help:"A direct message of a bot, with buttons."`
	Telegram ChannelsAddTelegramCmd `cmd:"" help:"A private chat with a bot, with buttons."`
	Webhook  ChannelsAddWebhookCmd  `cmd:"" help:"A program: signed JSON for every approval.requested, approval.decided and approval.expired."`
}

// addChannel is what the commands that set up a channel have in common.
type addChannel struct {
	remote.Server
	JSON bool `help:"Print JSON."`
}

func (c *addChannel) add(ctx context.Context, t *terminal.Terminal, cl *client.Client, r client.NotificationChannelRequest) error {
	made, err := cl.CreateNotificationChannel(ctx, r)
	if err != nil {
		return err
	}
	if made.Secret != "" && !c.JSON {
		t.Note("what it is sent is signed with this secret, which is shown this once: %s", made.Secret)
	}
	if made.PressURL != "" && !c.JSON {
		t.Note("for the buttons, enter this as the request URL of interactivity at the app: %s", made.PressURL)
	}
	return t.PrintEither(c.JSON, made, made.ID)
}

// ChannelsAddSlackCmd sets up a bot of Slack.
type ChannelsAddSlackCmd struct {
	addChannel
	Member string `arg:"" help:"Your member ID, such as U024BE7LH."`
	Token  string `required:"" env:"BEEOS_CHANNEL_TOKEN" placeholder:"TOKEN" help:"The bot's token (xoxb-…), with the scope chat:write."`
	Secret string `required:"" env:"BEEOS_CHANNEL_SECRET" placeholder:"SECRET" help:"The app's signing secret."`
}

// Run prints the id.
func (c *ChannelsAddSlackCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	return c.add(ctx, t, cl, client.NotificationChannelRequest{Kind: "slack", To: c.Member, Token: c.Token, Secret: c.Secret})
}

// ChannelsAddTelegramCmd sets up a bot of Telegram.
type ChannelsAddTelegramCmd struct {
	addChannel
	Chat  string `arg:"" help:"The number of your private chat with the bot."`
	Token string `required:"" env:"BEEOS_CHANNEL_TOKEN" placeholder:"TOKEN" help:"The bot's token, from BotFather."`
}

// Run prints the id.
func (c *ChannelsAddTelegramCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	return c.add(ctx, t, cl, client.NotificationChannelRequest{Kind: "telegram", To: c.Chat, Token: c.Token})
}

// ChannelsAddEmailCmd sets up mail to oneself.
type ChannelsAddEmailCmd struct{ addChannel }

// Run prints the id.
func (c *ChannelsAddEmailCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	return c.add(ctx, t, cl, client.NotificationChannelRequest{Kind: "email"})
}

// ChannelsAddWebhookCmd sets up a webhook.
type ChannelsAddWebhookCmd struct {
	addChannel
	URL    string `arg:"" help:"Where to send."`
	Secret string `env:"BEEOS_WEBHOOK_SECRET" placeholder:"SECRET" help:"Signs what is sent, 16 to 256 characters. Empty: one is made."`
	Token  string `env:"BEEOS_WEBHOOK_TOKEN" placeholder:"TOKEN" help:"Sent along as Authorization: Bearer."`
}

// Run prints the id.
func (c *ChannelsAddWebhookCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	return c.add(ctx, t, cl, client.NotificationChannelRequest{Kind: "webhook", URL: c.URL, Secret: c.Secret, Token: c.Token})
}

// ChannelsListCmd lists channels.
type ChannelsListCmd struct {
	remote.Server
	JSON bool `help:"Print JSON."`
}

// Run lists them.
func (c *ChannelsListCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	list, err := cl.NotificationChannels(ctx)
	if err != nil {
		return err
	}
	return terminal.PrintList(t, c.JSON, list, "ID KIND TO STATE MADE", func(ch *client.NotificationChannel) []string {
		state := "active"
		if ch.Disabled {
			state = "disabled"
		}
		return []string{ch.ID, ch.Kind, cmp.Or(ch.URL, ch.To), state, terminal.Ago(ch.CreatedAt)}
	})
}

// oneChannel is what the commands about one channel have in common.
type oneChannel struct {
	remote.Server
	ID string `arg:"" help:"Id of the channel, as beeos channels list shows it."`
}

func hintChannel(err error) error {
	return terminal.HintOn(beeos.NotFound, err, "there is no such channel or delivery", "see which there are with: beeos channels list")
}

// ChannelsTestCmd tries a channel.
type ChannelsTestCmd struct {
	oneChannel
	JSON bool `help:"Print JSON."`
}

// Run prints the id of the delivery.
func (c *ChannelsTestCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	d, err := cl.TestNotificationChannel(ctx, c.ID)
	if err != nil {
		return hintChannel(err)
	}
	if !c.JSON {
		t.Note("it is on its way; see what came of it with: beeos channels deliveries %s", c.ID)
	}
	return t.PrintEither(c.JSON, d, d.ID)
}

// ChannelsDeliveriesCmd lists deliveries.
type ChannelsDeliveriesCmd struct {
	oneChannel
	JSON  bool `help:"Print JSON."`
	Limit int  `default:"20" help:"How many, at most 200."`
}

// Run lists them.
func (c *ChannelsDeliveriesCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	list, err := cl.Notifications(ctx, c.ID, c.Limit)
	if err != nil {
		return hintChannel(err)
	}
	return terminal.PrintList(t, c.JSON, list, "DELIVERY EVENT APPROVAL STATUS ATTEMPTS TRIED ERROR", func(d *client.Notification) []string {
		return []string{d.ID, d.Event, d.ApprovalID, d.Status, strconv.Itoa(d.AttemptNum), terminal.Ago(d.LastAttemptedAt), d.LastError}
	})
}

// ChannelsRedeliverCmd sends a delivery once more.
type ChannelsRedeliverCmd struct {
	oneChannel
	Delivery string `arg:"" help:"Id of the delivery, as beeos channels deliveries shows it."`
}

// Run sends it.
func (c *ChannelsRedeliverCmd) Run(ctx context.Context, cl *client.Client) error {
	_, err := cl.RedeliverNotification(ctx, c.ID, c.Delivery)
	return hintChannel(err)
}

// ChannelsRemoveCmd ends a channel.
type ChannelsRemoveCmd struct{ oneChannel }

// Run removes it.
func (c *ChannelsRemoveCmd) Run(ctx context.Context, cl *client.Client) error {
	return hintChannel(cl.DeleteNotificationChannel(ctx, c.ID))
}
