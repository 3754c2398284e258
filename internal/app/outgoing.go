package app

import (
	"context"

	"github.com/beeos/beeos/internal/access/notify"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/engine/webhook"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/store/webhooks"
	"github.com/beeos/beeos/internal/surface/a2a"
	"github.com/beeos/beeos/internal/wire/mail"
)

// openHooks lets the surfaces register webhooks. They are sent by the
// processes that run the worker.
func (p *parts) openHooks(ctx context.Context) (err error) {
	p.hooks, err = webhook.New(ctx, webhook.Options{
		Webhooks: p.db.Webhooks, Cluster: p.db.Cluster, Ledger: p.ledger, Bus: p.bus, Log: p.log, Now: p.db.Now, Status: task.StatusOf,
		Formats: a2a.PushFormats(p.calls), AllowPrivate: p.cfg.AllowPrivate,
		Attempted: func(s outbox.Status) { p.metrics.Webhook(string(s)) },
		ApprovalLink: func(ctx context.Context, id string, w webhooks.Webhook) (string, error) {
			return p.approvals.LinkFor(ctx, id, w.Turn, w.Owner)
		},
	})
	if err == nil && p.cfg.Runs("worker") {
		p.run = append(p.run, p.hooks.Run)
	}
	return err
}

// openNotifications lets people hear of approvals. They are told by the processes
// that run the worker.
func (p *parts) openNotifications(ctx context.Context) (err error) {
	if p.mail, err = openMail(p.cfg); err != nil {
		return err
	}
	p.notify, err = notify.New(ctx, notify.Options{
		Table: p.db.Notifications, Approvals: p.approvals, Agents: p.db.Agents, People: p.db.People, Keys: p.db.Keys, Cluster: p.db.Cluster,
		Mail: p.mail, Bus: p.bus, Log: p.log, Now: p.db.Now, Web: p.public.Web, REST: p.public.REST, AllowPrivate: p.cfg.AllowPrivate,
		Attempted: func(s outbox.Status) { p.metrics.Webhook(string(s)) },
	})
	if err == nil && p.cfg.Runs("worker") {
		p.run = append(p.run, p.notify.Run)
	}
	return err
}

// openMail makes what sends mail; nil where no server is named.
func openMail(cfg config.Config) (*mail.Sender, error) {
	if cfg.SMTP.URL == "" {
		return nil, nil
	}
	return mail.New(mail.Options{URL: cfg.SMTP.URL, From: cfg.SMTP.From})
}

// CheckMail connects to the mail server and signs in; the error says what to do about
// it. It sends nothing.
func CheckMail(ctx context.Context, cfg config.Config) (string, error) {
	sender, err := openMail(cfg)
	if err != nil || sender == nil {
		return "", err
	}
	return sender.Server(), sender.Check(ctx)
}
