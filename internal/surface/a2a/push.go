package a2a

import (
	"context"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/engine/webhook"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// The forms in which the webhook worker tells about tasks to A2A's receivers.
const (
	PushFormat    = "a2a"
	OldPushFormat = "a2a-0.3"
)

// schemeHMAC is an authentication whose credentials are never sent: they sign
// what is, as docs/webhooks.md says.
const schemeHMAC = "hmac-sha256"

// pushList is what 1.0 lists configurations in.
type pushList struct {
	Configs       []*a2a.PushConfig `json:"configs"`
	NextPageToken string            `json:"nextPageToken"`
}

// nothing is the answer that has nothing to say.
type nothing struct{}

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
			v, err := view(ctx, calls, &t, new(int))
			if err != nil {
				return nil, err
			}
			v.Status.Timestamp, v.History = moment(e.At), nil
			return beeos.EncodeJSON(encode(v))
		}
	}
	return map[string]webhook.Format{
		PushFormat: {ContentType: "application/a2a+json", Render: render(func(t *a2a.Task) any {
			return a2a.StreamResponse{Event: t}
		})},
		OldPushFormat: {ContentType: "application/json", Render: render(func(t *a2a.Task) any { return oldTask(t) })},
	}
}

func (x *exchange) pushFormat() string {
	if x.dialect.old() {
		return OldPushFormat
	}
	return PushFormat
}

// readPush reads who wants to be told, and how, and says whether it can be.
func (x *exchange) readPush(ctx context.Context, p params) (*webhook.Registration, error) {
	r := &webhook.Registration{Format: x.pushFormat()}
	if err := p.texts(map[string]*string{"id": &r.Name, "url": &r.URL, "token": &r.Note}); err != nil {
		return nil, err
	}
	auth, err := p.object("authentication")
	if err != nil {
		return nil, err
	}
	var credentials string
	if err := auth.texts(map[string]*string{"scheme": &r.Scheme, "credentials": &credentials}); err != nil {
		return nil, err
	}
	for one := range httpd.Elements(auth["schemes"]) { // 0.3
		if r.Scheme == "" {
			r.Scheme, _ = httpd.StringValue(one)
		}
	}
	switch {
	case r.URL == "":
		return nil, beeos.Errorf(beeos.MissingParam, "url is required: where the notifications go")
	case strings.EqualFold(r.Scheme, schemeHMAC):
		r.Scheme, r.Secret = "", credentials
	default:
		r.Token = credentials
	}
	return r, x.g.opt.Hooks.Check(ctx, r)
}

// register lets a receiver be told about a task.
func (x *exchange) register(ctx context.Context, t *task.Task, r *webhook.Registration) (*a2a.PushConfig, error) {
	hook, err := x.g.opt.Acts.RegisterWebhook(ctx, x.caller, t, *r)
	if err != nil {
		return nil, err
	}
	return x.pushConfig(t, webhook.Described{Webhook: hook, Name: r.Name, Scheme: r.Scheme}), nil
}

// pushConfig shows a registration, without what only its receiver may know.
func (x *exchange) pushConfig(t *task.Task, d webhook.Described) *a2a.PushConfig {
	c := &a2a.PushConfig{TaskID: a2a.TaskID(t.Turn), ID: orElse(d.Name, d.ID), URL: d.URL}
	if d.HasSecret {
		d.Scheme = schemeHMAC
	}
	if d.Scheme != "" {
		c.Auth = &a2a.PushAuthInfo{Scheme: d.Scheme}
	}
	return c
}

// pushTask reads whose configurations are meant. 0.3 has the task's id in id
// where 1.0 has it in taskId.
func (x *exchange) pushTask(ctx context.Context) (t task.Task, config string, err error) {
	var task, id, old string
	err = x.params.texts(map[string]*string{"taskId": &task, "id": &id, "pushNotificationConfigId": &old})
	if err != nil {
		return t, "", err
	}
	if task == "" {
		task, id = id, old
	}
	t, err = x.ownTask(ctx, strings.TrimPrefix(task, "tasks/"))
	return t, id, err
}

func (x *exchange) setPush(ctx context.Context) (any, error) {
	t, _, err := x.pushTask(ctx)
	if err != nil {
		return nil, err
	}
	p := x.params
	for _, name := range []string{"pushNotificationConfig", "config"} { // 0.3, and drafts of 1.0
		if p.has(name) {
			if p, err = p.object(name); err != nil {
				return nil, err
			}
		}
	}
	r, err := x.readPush(ctx, p)
	if err != nil {
		return nil, err
	}
	c, err := x.register(ctx, &t, r)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// findPush returns a configuration of a task; with no id, its only one.
func (x *exchange) findPush(ctx context.Context) (t task.Task, id string, found *webhook.Described, err error) {
	t, id, err = x.pushTask(ctx)
	if err != nil {
		return t, id, nil, err
	}
	all, err := x.g.opt.Hooks.Describe(ctx, t.Turn, x.pushFormat())
	if err != nil {
		return t, id, nil, err
	}
	for i := range all {
		if id == "" || all[i].ID == id || all[i].Name == id {
			return t, id, &all[i], nil
		}
	}
	return t, id, nil, nil
}

func (x *exchange) getPush(ctx context.Context) (any, error) {
	t, _, found, err := x.findPush(ctx)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, refuse(taskNotFound, "the task has no such push notification configuration")
	}
	return x.pushConfig(&t, *found), nil
}

func (x *exchange) listPush(ctx context.Context) (any, error) {
	t, _, err := x.pushTask(ctx)
	if err != nil {
		return nil, err
	}
	all, err := x.g.opt.Hooks.Describe(ctx, t.Turn, x.pushFormat())
	if err != nil {
		return nil, err
	}
	list := &pushList{Configs: []*a2a.PushConfig{}}
	for _, d := range all {
		list.Configs = append(list.Configs, x.pushConfig(&t, d))
	}
	return list, nil
}

// dropPush removes a configuration; one that is not there is as good as
// removed.
func (x *exchange) dropPush(ctx context.Context) (any, error) {
	_, id, found, err := x.findPush(ctx)
	switch {
	case err != nil:
	case id == "":
		err = beeos.Errorf(beeos.MissingParam, "the id of the configuration is required: the task may have several")
	case found != nil:
		err = x.g.opt.Acts.DeleteWebhook(ctx, x.caller, found.Webhook)
	}
	if err != nil {
		return nil, err
	}
	return &nothing{}, nil
}
