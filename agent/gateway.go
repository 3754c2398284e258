package agent

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos"
)

const (
	requestWithin = 30 * time.Second
	maxAnswer     = 16 << 20
)

// refusal is an error that trying again cannot mend.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// gateway is the HTTP side of the agent gateway: join, sync, history.
type gateway struct {
	base     string
	http     *http.Client
	settings settings
	id       *identity
	log      *slog.Logger

	synced  atomic.Bool
	known   atomic.Bool // a signature of ours was accepted at least once
	untried atomic.Bool // this process joined, and no signature was accepted since
}

func openGateway(o Options, log *slog.Logger) (*gateway, error) {
	s, err := findSettings(o)
	if err != nil {
		return nil, err
	}
	id, err := openIdentity(s.identity)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", o.Name, err)
	}
	return &gateway{base: s.gateway, http: &http.Client{}, settings: s, id: id, log: log}, nil
}

// ensureDeclared joins and declares the agent if the gateway does not know it yet.
func (g *gateway) ensureDeclared(ctx context.Context, def beeos.Definition) error {
	if g.id.instance(g.base) == "" {
		if err := g.join(ctx, def.Name); err != nil {
			return err
		}
	}
	if g.synced.Load() {
		return nil
	}
	return g.declare(ctx, def)
}

// declare declares the agent as def.
func (g *gateway) declare(ctx context.Context, def beeos.Definition) error {
	body, err := beeos.EncodeJSON(map[string]any{"agents": []beeos.Definition{def}})
	if err != nil {
		return &refusal{fmt.Errorf("declare the agent: %w", err)}
	}
	if err := g.sendSigned(ctx, http.MethodPost, "/api/v1/agents/sync", body, nil); err != nil {
		switch beeos.CodeOf(err) {
		case beeos.InvalidBody, beeos.InvalidParam, beeos.InvalidJSON, beeos.MissingParam, beeos.Conflict, beeos.PayloadTooLarge:
			err = &refusal{err}
		}
		return fmt.Errorf("declare the agent: %w", err)
	}
	g.synced.Store(true)
	return nil
}

// join registers this process's public key with a credential of its owner.
func (g *gateway) join(ctx context.Context, name string) error {
	cred, err := g.settings.credential()
	if err != nil {
		if g.known.Load() {
			return err // it may come back: the gateway was here before
		}
		return &refusal{err}
	}
	body, err := beeos.EncodeJSON(map[string]string{
		"token":      cred.token,
		"name":       name,
		"public_key": base64.StdEncoding.EncodeToString(g.id.key.Public().(ed25519.PublicKey)),
	})
	if err != nil {
		return fmt.Errorf("join: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.base+"/api/v1/agents/join", bytes.NewReader(body))
	if err != nil {
		return &refusal{fmt.Errorf("join: %w", err)}
	}
	if cred.key != "" {
		req.Header.Set("Authorization", "Bearer "+cred.key)
	}
	var got struct {
		InstanceID string `json:"instance_id"`
	}
	if err := g.exchange(req, &got); err != nil {
		code := beeos.CodeOf(err)
		passing := code == beeos.InternalError || code == beeos.AgentServiceUnavailable || code == beeos.RateLimited
		err = fmt.Errorf("join %s with %s: %w", g.base, cred.from, err)
		if passing || cred.local || g.known.Load() {
			return err
		}
		return &refusal{err}
	}
	g.log.Info("joined", "gateway", g.base, "instance", got.InstanceID, "with", cred.from)
	g.untried.Store(true)
	g.synced.Store(false)
	return g.id.joined(g.base, got.InstanceID)
}

// readHistory reads a channel of this agent's.
func (g *gateway) readHistory(ctx context.Context, channel string) ([]beeos.Message, error) {
	var all []beeos.Message
	since := int64(0)
	for {
		var page struct {
			Messages []beeos.Message `json:"messages"`
			HasMore  bool            `json:"has_more"`
		}
		path := fmt.Sprintf("/api/v1/agents/channels/%s/messages?since=%d", url.PathEscape(channel), since)
		if err := g.sendSigned(ctx, http.MethodGet, path, nil, &page); err != nil {
			return nil, fmt.Errorf("read the history: %w", err)
		}
		all = append(all, page.Messages...)
		if !page.HasMore || len(page.Messages) == 0 {
			return all, nil
		}
		since = page.Messages[len(page.Messages)-1].Offset
	}
}

// sendSigned sends one signed request.
func (g *gateway) sendSigned(ctx context.Context, method, path string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, g.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", g.sign(method, path, body))
	return g.noteAnswer(g.exchange(req, out))
}

// noteAnswer notes whether the gateway knows this identity. One that it has
// forgotten (its data was wiped) joins again at the next try.
func (g *gateway) noteAnswer(err error) error {
	if err == nil {
		g.known.Store(true)
		g.untried.Store(false)
		return nil
	}
	if code := beeos.CodeOf(err); code != beeos.InvalidToken && code != beeos.Unauthorized {
		return err
	}
	if g.untried.Load() {
		return &refusal{fmt.Errorf("the gateway took this agent in but refuses its signature; is this machine's clock right? %w", err)}
	}
	g.id.forget(g.base)
	g.synced.Store(false)
	return fmt.Errorf("the gateway does not know this identity, which will join again: %w", err)
}

func (g *gateway) sign(method, path string, body []byte) string {
	return beeos.Sign(g.id.key, g.id.instance(g.base), method, path, body)
}

// userAgent is how the owner of an agent recognises that it uses this package.
func userAgent() string { return "beeos-agent/" + beeos.Version }

// exchange sends req and decodes the data of the answer into out.
func (g *gateway) exchange(req *http.Request, out any) error {
	ctx, cancel := context.WithTimeout(req.Context(), requestWithin)
	defer cancel()
	req = req.WithContext(ctx)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", userAgent())
	resp, err := g.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 {
		return readError(resp)
	}
	var envelope struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&envelope); err != nil {
		return fmt.Errorf("%s does not answer like a gateway: %w", g.base, err)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(envelope.Data, out)
}

// readError turns an error answer into a *beeos.Error.
func readError(resp *http.Response) error {
	defer resp.Body.Close()
	var body struct {
		Error struct {
			Code    beeos.Code `json:"code"`
			Message string     `json:"message"`
		} `json:"error"`
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // whatever came is what there is to say
	if err := json.Unmarshal(text, &body); err != nil || body.Error.Code == "" {
		return fmt.Errorf("the gateway answered %s: %.200s", resp.Status, text)
	}
	return &beeos.Error{Code: body.Error.Code, Message: body.Error.Message}
}
