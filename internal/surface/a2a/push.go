package a2a

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/engine/webhook"
	"github.com/beeos/beeos/internal/surface/a2a/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// The forms in which the webhook worker tells about tasks to A2A's receivers.
const (
	PushFormat    = "a2a"
	OldPushFormat = "a2a-0.3"
)

// schemeHMAC is an authentication whose credentials are never sent: they sign
// what is, as docs/how-to/webhooks.md says.
const schemeHMAC = "hmac-sha256"

// PushFormats are the forms of this surface. In both, a receiver gets the whole
// task: whoever is told that one is done would ask for it next.
func PushFormats(calls *invoke.Calls) map[string]webhook.Format {
	render := func(encode func(*a2a.Task) any) func(context.Context, webhook.Event) ([]byte, error) {
		return func(ctx context.Context, e webhook.Event) ([]byte, error) {
			t, err := calls.Task(ctx, e.Owner, e.Turn)
			if err != nil {
				return nil, err
			}
			if !e.Status.Terminal() { // as it was then, not as it is by now
				t.Done = nil
			}
			t.Status = e.Status
			v, err := viewTask(ctx, calls, &t, new(int))
			if err != nil {
				return nil, err
			}
			v.Status.Timestamp, v.History = wire.Timestamp(e.At), nil
			return beeos.EncodeJSON(encode(v))
		}
	}
	return map[string]webhook.Format{
		PushFormat: {ContentType: "application/a2a+json", Render: render(func(t *a2a.Task) any {
			return a2a.StreamResponse{Event: t}
		})},
		OldPushFormat: {ContentType: "application/json", Render: render(func(t *a2a.Task) any { return wire.V03.Encode(t) })},
	}
}

func (o *operation) pushFormat() string {
	if o.dialect.Old() {
		return OldPushFormat
	}
	return PushFormat
}

// readPush reads who wants to be told, and how, and says whether it can be.
func (o *operation) readPush(ctx context.Context, p wire.Params) (*webhook.Registration, error) {
	auth := p.Object("authentication")
	r := &webhook.Registration{
		Format: o.pushFormat(), Name: p.Text("id"), URL: p.Text("url"), Note: p.Text("token"), Scheme: auth.Text("scheme"), Token: auth.Text("credentials"),
	}
	for one := range strictjson.Elements(auth.Raw("schemes")) { // 0.3
		if r.Scheme == "" {
			r.Scheme, _ = strictjson.StringValue(one)
		}
	}
	switch {
	case p.Err() != nil:
		return nil, p.Err()
	case r.URL == "":
		return nil, beeos.Errorf(beeos.MissingParam, "url is required: where the notifications go")
	case strings.EqualFold(r.Scheme, schemeHMAC):
		r.Scheme, r.Secret, r.Token = "", r.Token, ""
	}
	return r, o.surface.opt.Hooks.Check(ctx, r)
}

// registerPush lets a receiver be told about a task.
func (o *operation) registerPush(ctx context.Context, t *task.Task, r *webhook.Registration) (*a2a.PushConfig, error) {
	hook, err := o.surface.opt.Acts.RegisterWebhook(ctx, o.caller, t, *r)
	return pushConfig(t, webhook.Described{Webhook: hook, Name: r.Name, Scheme: r.Scheme}), err
}

// pushConfig shows a registration, without what only its receiver may know.
func pushConfig(t *task.Task, d webhook.Described) *a2a.PushConfig {
	c := &a2a.PushConfig{TaskID: a2a.TaskID(t.Turn), ID: cmp.Or(d.Name, d.ID), URL: d.URL}
	if d.HasSecret {
		d.Scheme = schemeHMAC
	}
	if d.Scheme != "" {
		c.Auth = &a2a.PushAuthInfo{Scheme: d.Scheme}
	}
	return c
}

// findPush returns the configurations of the task that is meant, and the id of
// the one that is. 0.3 has the task's id in id where 1.0 has it in taskId.
func (o *operation) findPush(ctx context.Context) (t task.Task, all []webhook.Described, id string, err error) {
	if t, id, err = o.readPushTask(ctx); err == nil {
		all, err = o.surface.opt.Hooks.Describe(ctx, t.Turn, o.pushFormat())
	}
	return t, all, id, err
}

func (o *operation) readPushTask(ctx context.Context) (t task.Task, config string, err error) {
	id, config := o.params.Text("taskId"), o.params.Text("id")
	if id == "" {
		id, config = config, o.params.Text("pushNotificationConfigId")
	}
	if err := o.params.Err(); err != nil {
		return t, "", err
	}
	t, err = o.ownTask(ctx, id)
	return t, config, err
}

// pushIndex is the place of a configuration in a list; with no id, the first.
func pushIndex(all []webhook.Described, id string) int {
	return slices.IndexFunc(all, func(d webhook.Described) bool { return id == "" || d.ID == id || d.Name == id })
}

func (o *operation) setPush(ctx context.Context) (any, error) {
	t, _, err := o.readPushTask(ctx)
	if err != nil {
		return nil, err
	}
	p := o.params
	for _, name := range []string{"config", "pushNotificationConfig"} { // drafts of 1.0, and 0.3, which has one in the other over HTTP+JSON
		if p.Has(name) {
			p = p.Object(name)
		}
	}
	r, err := o.readPush(ctx, p)
	if err != nil {
		return nil, err
	}
	r.Name = cmp.Or(r.Name, o.params.Text("configId"))
	return o.registerPush(ctx, &t, r)
}

func (o *operation) getPush(ctx context.Context) (any, error) {
	t, all, id, err := o.findPush(ctx)
	if err != nil {
		return nil, err
	}
	i := pushIndex(all, id)
	if i < 0 {
		return nil, wire.Refuse(wire.TaskNotFound, "the task has no such push notification configuration")
	}
	return pushConfig(&t, all[i]), nil
}

func (o *operation) listPush(ctx context.Context) (any, error) {
	t, all, _, err := o.findPush(ctx)
	list := &wire.PushList{Configs: []*a2a.PushConfig{}}
	for _, d := range all {
		list.Configs = append(list.Configs, pushConfig(&t, d))
	}
	return list, err
}

// deletePush removes a configuration; one that is not there is as good as
// removed.
func (o *operation) deletePush(ctx context.Context) (any, error) {
	_, all, id, err := o.findPush(ctx)
	i := pushIndex(all, id)
	switch {
	case err != nil:
	case id == "":
		err = beeos.Errorf(beeos.MissingParam, "the id of the configuration is required: the task may have several")
	case i >= 0:
		err = o.surface.opt.Acts.DeleteWebhook(ctx, o.caller, all[i].Webhook)
	}
	return &wire.Nothing{}, err
}
