package notify

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/courier"
	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/wire/outbound"
)

const (
	maxToken  = 4096
	minSecret = 16
	maxSecret = 256
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
	if len(s.Token) > maxToken || strings.ContainsFunc(s.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return secrets{}, beeos.Errorf(beeos.InvalidParam, "token must be plain ASCII without spaces, of at most %d characters", maxToken)
	}
	if n := utf8.RuneCountInString(s.Secret); s.Secret != "" && (n < minSecret || n > maxSecret) {
		return secrets{}, beeos.Errorf(beeos.InvalidParam, "secret must have %d to %d characters; without one, one is made", minSecret, maxSecret)
	}
	if err := outbound.CheckURL(ctx, s.URL, w.reach); err != nil {
		return secrets{}, err
	}
	c.Target = s.URL
	secret := s.Secret
	if secret == "" {
		secret = newSecret()
	}
	return secrets{Secret: secret, Token: s.Token}, nil
}

// newSecret makes a secret as Standard Webhooks writes them.
func newSecret() string {
	key := make([]byte, 24)
	rand.Read(key) //nolint:errcheck // crypto/rand never fails since Go 1.24
	return "whsec_" + base64.StdEncoding.EncodeToString(key)
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
