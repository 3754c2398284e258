package notify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/courier"
	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/wire/outbound"
)

// webhookSender sends events as JSON, signed as webhooks of tasks are.
type webhookSender struct {
	opt    *Options
	reach  outbound.Options
	client *http.Client
}

func newWebhookSender(opt *Options) *webhookSender {
	reach := courier.Reach(opt.AllowPrivate, opt.Resolver)
	return &webhookSender{opt, reach, outbound.Client(reach)}
}

func (w *webhookSender) setUp(ctx context.Context, c *notifications.Channel, s *Setup) (secrets, error) {
	if s.To != "" {
		return secrets{}, beeos.Errorf(beeos.InvalidParam, "a channel of kind webhook takes no to; its address is url")
	}
	if s.URL == "" {
		return secrets{}, beeos.Errorf(beeos.MissingParam, "url is required: where the webhook is")
	}
	if err := cmp.Or(courier.CheckToken("token", s.Token), courier.CheckSecret(s.Secret)); err != nil {
		return secrets{}, err
	}
	if err := outbound.CheckURL(ctx, s.URL, w.reach); err != nil {
		return secrets{}, err
	}
	c.Target = s.URL
	secret := s.Secret
	if secret == "" {
		secret = courier.NewSecret()
	}
	return secrets{Secret: secret, Token: s.Token}, nil
}

func (w *webhookSender) send(ctx context.Context, m *message) courier.Outcome {
	body, err := beeos.EncodeJSON(m.Event)
	if err != nil {
		return courier.Outcome{Err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.channel.Target, bytes.NewReader(body))
	if err != nil {
		return courier.Outcome{Err: errors.New("the URL cannot be used; set up another channel"), Final: true}
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "User-Agent": "BeeOS/" + beeos.Version, "X-BeeOS-Event": m.Type} {
		req.Header.Set(name, value)
	}
	if m.secrets.Token != "" {
		req.Header.Set("Authorization", "Bearer "+m.secrets.Token)
	}
	now := w.opt.Now()
	courier.Sign(req.Header, m.id, []string{m.secrets.Secret}, now, body)
	return courier.Post(w.client, req, now)
}
