// Package a2a turns an agent of another platform, a peer, into an agent of ours
// (docs/adr/0028). a2a.go keeps the agent there, as the peer's card describes
// it. answer.go makes a message to the peer of one of ours, remote_task.go
// follows the task that comes of it, and artifacts.go collects the answer.
// Package peer below talks to the peer.
package a2a

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/a2a/peer"
	"github.com/beeos/beeos/internal/outward/bridge/account"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// cardInterval is how often a peer's card is read again.
const cardInterval = 5 * time.Minute

// Options say which agent of another platform becomes one of ours.
type Options struct {
	URL     string   `name:"a2a" xor:"what" placeholder:"URL" example:"https://example.com/agents/7" yaml:"a2a" help:"Agent of another platform, or its card. It becomes an agent of yours."`
	Origins []string `name:"a2a-origin" placeholder:"URL" yaml:"origins" help:"With --a2a: where else its card may lead to, as in https://api.example.com."`
}

// Given reports whether there is an agent.
func (o *Options) Given() bool { return o.URL != "" }

// Check finds mistakes before anything is dialled.
func (o *Options) Check(s *settings.Bridge) error {
	return errors.Join(upstream.CheckURL(s.Option("a2a"), o.URL), s.OAuthClient(false).Check())
}

// Run serves the peer as an agent until ctx ends. Its card tells what it is;
// while it cannot be read, the agent is not there.
func (o *Options) Run(ctx context.Context, s settings.Bridge) error {
	b := &bridge{
		options: s.Agent, header: s.Header, oauth: s.OAuthClient(false), log: s.Log(), contexts: contexts{of: map[string]string{}},
		cards: peer.CardReader{URL: o.URL, Origins: o.Origins, Header: s.Header, HTTP: upstream.NewClient()},
	}
	card, ok := b.connect(ctx)
	if !ok {
		return nil // asked to stop
	}
	a := s.Agent
	// A peer that has begun may have done its work already.
	a.Redelivery = cmp.Or(a.Redelivery, beeos.RedeliverBeforeStart)
	card.Describe(&a, b.tools)
	var err error
	if b.agent, err = agent.New(a, b.answerMessage); err != nil {
		return err
	}
	return upstream.ServeBeside(ctx, func(life context.Context) { b.keepCardFresh(life, card) }, b.agent.Run)
}

// bridge stands between an agent of ours and one of another platform.
type bridge struct {
	options  agent.Options // as the operator described the agent
	header   http.Header
	oauth    *account.Client // nil = the header is all there is
	log      *slog.Logger
	cards    peer.CardReader
	agent    *agent.Agent
	contexts contexts

	mu     sync.Mutex
	client *peer.Client
	stream bool
	tools  []agent.Tool
	skills map[string]string // tool -> what the peer calls it
}

// connect reads the card, however often it takes.
func (b *bridge) connect(ctx context.Context) (card peer.Card, ok bool) {
	ok = upstream.KeepTrying(ctx, func() (err error) {
		if card, err = b.readCard(ctx); err != nil {
			return err
		}
		return b.client.Transport.EnsureConsent(ctx)
	}, func(pause time.Duration, err error) {
		b.log.Warn("the agent cannot be used; trying again", "in", pause.String(), "err", err)
	})
	return card, ok
}

// readCard reads the card and talks to the peer as that says, from now on.
func (b *bridge) readCard(ctx context.Context) (peer.Card, error) {
	card, access, err := b.cards.Read(ctx)
	if err != nil {
		return card, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.client == nil || b.client.Interface != access {
		c := &peer.Client{Interface: access, Header: b.header, HTTP: b.cards.HTTP}
		if b.oauth != nil && access.Binding == "JSONRPC" { // which has one address
			g, err := b.oauth.NewTransport(access.URL)
			if err != nil {
				return card, err
			}
			c.Transport, c.HTTP = g, g.HTTPClient()
		}
		b.client = c
	}
	b.stream = card.Capabilities.Streaming
	b.tools, b.skills = card.Tools()
	return card, nil
}

// keepCardFresh reads the card again now and then, and tells the gateway what
// has changed.
func (b *bridge) keepCardFresh(ctx context.Context, shown peer.Card) {
	for upstream.Pause(ctx, cardInterval) {
		card, err := b.readCard(ctx)
		if err != nil {
			b.log.Warn("the agent's card cannot be read; what it said before counts", "err", err)
			continue
		}
		if reflect.DeepEqual(card, shown) {
			continue
		}
		shown = card
		if err := b.publishCard(ctx, &card); err != nil {
			b.log.Warn("the gateway was not told what the agent says about itself now", "err", err)
		}
	}
}

func (b *bridge) publishCard(ctx context.Context, card *peer.Card) error {
	return b.agent.Change(ctx, func(o *agent.Options) {
		said := b.options
		b.mu.Lock()
		card.Describe(&said, b.tools)
		b.mu.Unlock()
		o.DisplayName, o.Description, o.Version, o.Tools, o.Capabilities = said.DisplayName, said.Description, said.Version, said.Tools, said.Capabilities
	})
}

func (b *bridge) currentClient() (c *peer.Client, stream bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.client, b.stream
}

// contexts are what the peer calls our conversations. It is kept with each
// answer, so another process finds it there.
type contexts struct {
	mu sync.Mutex
	of map[string]string // channel -> context
}

const maxContexts = 10_000

func (c *contexts) put(channel, context string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.of) >= maxContexts {
		clear(c.of) // the answers have them
	}
	c.of[channel] = context
}

// get returns the context; asking the history is left to those who must.
func (c *contexts) get(channel string) (context string, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	context, known = c.of[channel]
	return context, known
}
