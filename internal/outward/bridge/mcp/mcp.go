// Package mcp turns an MCP server into an agent. It passes messages on without
// looking into them (docs/adr/0022). mcp.go keeps the server there and tells
// the gateway what it offers; answer.go makes calls of the server from messages
// to the agent. Callers who can be asked something have a session of their own
// (caller_sessions.go); subscriptions.go hears of changes. Package session
// below talks to the server.
package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/account"
	"github.com/beeos/beeos/internal/outward/bridge/mcp/session"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// Options say which MCP server becomes an agent.
type Options struct {
	Server upstream.Command `name:"mcp" xor:"what" placeholder:"CMD|URL" example:"npx -y some-mcp-server" yaml:"mcp" help:"MCP server, whose tools, resources and prompts become the agent's: a command, or an address."`
}

// Given reports whether there is a server.
func (o *Options) Given() bool { return o.Server.Given() }

// Check finds mistakes before anything is dialled.
func (o *Options) Check(s *settings.Bridge) error {
	if o.Server.URL() == "" {
		return nil // a program may be installed later
	}
	return errors.Join(upstream.CheckURL(s.Option("mcp"), o.Server.URL()), s.OAuthClient(true).Check())
}

// Run serves the server's tools, resources and prompts as an agent's until ctx
// ends. When the server goes away it is started, or dialled, again.
func (o *Options) Run(ctx context.Context, s settings.Bridge) error {
	b := &bridge{
		settings: s, url: o.Server.URL(), command: o.Server.Words(s.Args), log: s.Log(),
		base: upstream.NewSlot[baseSession](), changed: make(chan struct{}, 1), idleCheckInterval: callerSessionIdle / 5,
	}
	if err := b.prepare(s.OAuthClient(true)); err != nil {
		return err
	}
	b.callers = callerSessions{open: b.openCallerSession, now: time.Now, byKey: map[string]*callerSession{}}
	defer b.callers.closeAll()
	base, offer, ok := b.connect(ctx)
	if !ok {
		return nil // asked to stop
	}
	describe(&s.Agent, base.About)
	offer.Describe(&s.Agent, b.answerMessage)
	a, err := agent.New(s.Agent, b.answerMessage)
	if err != nil {
		base.close()
		return err
	}
	b.agent.Store(a)
	b.useBase(base, offer)
	return upstream.ServeBeside(ctx, func(life context.Context) { b.keepBase(life, base, offer) }, a.Run)
}

// prepare finds the program, or the way into the server.
func (b *bridge) prepare(client *account.Client) (err error) {
	switch {
	case b.url == "":
		if _, err := exec.LookPath(b.command[0]); err != nil {
			return fmt.Errorf("the server cannot be run; check its path and that it is executable: %w", err)
		}
	case client != nil:
		b.transport, err = client.NewTransport(b.url)
	}
	return err
}

// describe takes from the server what the operator did not say.
func describe(o *agent.Options, a session.About) {
	o.DisplayName = cmp.Or(o.DisplayName, a.Info.Title)
	o.Description = cmp.Or(o.Description, a.Instructions)
	o.Version = cmp.Or(o.Version, a.Info.Version)
	if o.Capabilities == nil {
		o.Capabilities = json.RawMessage(`{"chat":false}`) // it has tools, and no words of its own
	}
	// A tool that has begun may have done its work already.
	o.Redelivery = cmp.Or(o.Redelivery, beeos.RedeliverBeforeStart)
}

// bridge stands between an agent and a server. One session, the base, is
// always there: it knows what the server offers, hears of changes, and makes
// every call whose caller cannot be asked. The newest revision needs no other.
type bridge struct {
	settings  settings.Bridge
	url       string // of the server; empty = it is a program
	command   []string
	log       *slog.Logger
	transport *account.Transport // nil = there is none
	agent     atomic.Pointer[agent.Agent]
	base      *upstream.Slot[baseSession]
	callers   callerSessions
	legacy    bool // the server broke when it was asked for the newest revision

	changed           chan struct{} // has room for one: the server's lists are others now
	idleCheckInterval time.Duration

	mu    sync.Mutex
	stale []string // lists that the server says have changed
}

// openSession opens a way to the server.
func (b *bridge) openSession(ctx context.Context, notice func(string, json.RawMessage)) (*session.Session, error) {
	if b.url != "" {
		client := upstream.NewClient()
		if b.transport != nil {
			client = b.transport.HTTPClient()
		}
		return session.New(session.OpenHTTP(b.url, b.settings.Header, client, b.log), b.log, notice), nil
	}
	l, err := session.StartStdio(ctx, b.command, b.settings.Dir, b.settings.Env, b.log)
	if err != nil {
		return nil, err
	}
	return session.New(l, b.log, notice), nil
}

// connect opens the base and lists what the server offers, however often it
// takes.
func (b *bridge) connect(ctx context.Context) (base *baseSession, offer session.Offers, ok bool) {
	ok = upstream.KeepTrying(ctx, func() (err error) {
		base, offer, err = b.connectOnce(ctx)
		for b.transport.ObtainConsent(ctx, err) {
			base, offer, err = b.connectOnce(ctx)
		}
		return err
	}, func(pause time.Duration, err error) {
		b.log.Warn("the server cannot be used; trying again", "in", pause.String(), "err", err)
	})
	return base, offer, ok
}

func (b *bridge) connectOnce(ctx context.Context) (base *baseSession, offer session.Offers, err error) {
	s, err := b.openSession(ctx, b.handleNotice)
	if err != nil {
		return nil, offer, err
	}
	// Some servers offer more to clients that can be asked.
	err = s.Open(ctx, !b.legacy, clientCapabilities([]string{"elicitation", "sampling", "roots", "ui"}))
	if err != nil && (s.Ended() || errors.Is(err, session.ErrSilent)) {
		b.legacy = !b.legacy // the other way, next time
	}
	if err == nil {
		offer, err = s.ListOffers(ctx)
	}
	if err != nil {
		s.Close()
		return nil, offer, err
	}
	return newBaseSession(s), offer, nil
}

// openCallerSession opens a session for one caller.
func (b *bridge) openCallerSession(ctx context.Context, can session.Object) (*session.Session, error) {
	s, err := b.openSession(ctx, nil) // the base hears of changes
	if err != nil {
		return nil, err
	}
	if err := s.Open(ctx, false, can); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// handleNotice hears what concerns no call.
func (b *bridge) handleNotice(method string, params json.RawMessage) {
	switch method {
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
		list, _ := strings.CutPrefix(strings.TrimSuffix(method, "/list_changed"), "notifications/")
		b.mu.Lock()
		b.stale = append(b.stale, list)
		b.mu.Unlock()
		select {
		case b.changed <- struct{}{}:
		default:
		}
	case "notifications/resources/updated":
		var p struct {
			URI string `json:"uri"`
		}
		if a := b.agent.Load(); a != nil && json.Unmarshal(params, &p) == nil {
			a.ResourceUpdated(p.URI)
		}
	}
}

// useBase makes base the one that there is.
func (b *bridge) useBase(base *baseSession, offer session.Offers) {
	b.base.Fill(base)
	ctx, cancel := context.WithTimeout(context.Background(), upstream.OpenWithin)
	defer cancel()
	base.watchOffers(ctx, offer)
}

// dropBase ends base, if that is still the one that there is.
func (b *bridge) dropBase(base *baseSession) {
	if b.base.Empty(base) {
		base.close()
	}
}

// keepBase replaces the base when it ends, and tells the gateway what has
// changed.
func (b *bridge) keepBase(ctx context.Context, base *baseSession, shown session.Offers) {
	defer func() { b.dropBase(base) }()
	tick := time.NewTicker(b.idleCheckInterval)
	defer tick.Stop()
	pause, since := upstream.MinPause, time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			b.callers.closeIdle()
		case <-b.changed:
			shown = b.refreshOffers(ctx, base, shown)
		case <-base.Gone:
			b.dropBase(base)
			if time.Since(since) >= upstream.SteadyRun {
				pause = upstream.MinPause
			}
			b.log.Error("the server is gone; starting again", "in", pause.String())
			if !upstream.Pause(ctx, pause) {
				return
			}
			pause = min(2*pause, upstream.MaxPause)
			next, offer, ok := b.connect(ctx)
			if !ok {
				return
			}
			base, since = next, time.Now()
			shown = b.publishOffers(ctx, shown, offer)
			b.useBase(base, offer)
		}
	}
}

// refreshOffers reads the lists again. A list that reads as before has changed
// all the same, if the server says so: its clients are told.
func (b *bridge) refreshOffers(ctx context.Context, base *baseSession, shown session.Offers) session.Offers {
	b.mu.Lock()
	stale := b.stale
	b.stale = nil
	b.mu.Unlock()
	now, err := base.ListOffers(ctx)
	if err != nil {
		b.log.Warn("the server's lists cannot be read", "err", err)
		return shown
	}
	same := map[string]bool{
		"tools": reflect.DeepEqual(shown.Tools, now.Tools), "prompts": reflect.DeepEqual(shown.Prompts, now.Prompts),
		"resources": reflect.DeepEqual(shown.Resources, now.Resources),
	}
	shown = b.publishOffers(ctx, shown, now)
	for _, list := range stale {
		if same[list] {
			b.agent.Load().ResourceUpdated("beeos://agent/" + list)
		}
	}
	base.watchOffers(ctx, now)
	return shown
}

// publishOffers tells the gateway what the server offers now.
func (b *bridge) publishOffers(ctx context.Context, before, now session.Offers) session.Offers {
	if reflect.DeepEqual(before, now) {
		return before
	}
	err := b.agent.Load().Change(ctx, func(o *agent.Options) { now.Describe(o, b.answerMessage) })
	if err != nil {
		b.log.Warn("the gateway was not told what the server offers now", "err", err)
	}
	return now
}

// currentBase returns the base, once there is one.
func (b *bridge) currentBase(ctx context.Context) (*baseSession, error) {
	for {
		base, err := b.base.Wait(ctx)
		if err != nil || !base.Ended() {
			return base, err
		}
		b.dropBase(base) // keepBase has not noticed yet
	}
}
