package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/acp/rpc"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

const (
	maxSessions = 256 // of a program at a time
	sessionIdle = 30 * time.Minute
	stuckAfter  = 15 * time.Second // a program that is asked for a session and says nothing at all
)

var errTooManySessions = fmt.Errorf("the program behind this agent is working in %d conversations; try again later", maxSessions)

// session is a conversation with the program. It answers one message at a time.
type session struct {
	channel string
	free    chan struct{} // has room for one: who has it works on a message

	id      string // the program's name for it; "" = it is not open yet
	modes   []string
	options []configOption
	chosen  string  // model that was set
	model   string  // that answers
	cost    float64 // so far, in dollars
	resumed bool    // what it cost before is not known until the program says it
	last    time.Time
	over    bool // it is not in use any more

	mu   sync.Mutex
	turn *turn // the message that is being worked on
}

// acquire returns the session of a channel, once it is free and open, and what to
// call when it is no longer used.
func (p *process) acquire(ctx context.Context, m agent.Message, r *agent.Reply) (*session, error) {
	for {
		s, err := p.findSession(m.Channel)
		if err != nil {
			return nil, err
		}
		select {
		case s.free <- struct{}{}:
		case <-p.Gone:
			return nil, upstream.ErrGone
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if s.over {
			<-s.free
			continue
		}
		if s.id == "" {
			if err := p.openSession(ctx, s, r); err != nil {
				p.dropSession(s)
				<-s.free
				return nil, err
			}
		}
		if err := p.chooseModel(ctx, s, m.Model); err != nil {
			s.release()
			return nil, err
		}
		return s, nil
	}
}

func (s *session) release() {
	s.last = time.Now()
	<-s.free
}

// findSession returns the session of a channel, which is not open if it is new.
func (p *process) findSession(channel string) (*session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.byChannel[channel]; s != nil {
		return s, nil
	}
	if len(p.byChannel) >= maxSessions && !p.makeRoom() {
		return nil, errTooManySessions
	}
	s := &session{channel: channel, free: make(chan struct{}, 1), last: time.Now()}
	p.byChannel[channel] = s
	return s, nil
}

// makeRoom lets go of the session that has been idle the longest. p.mu is held.
func (p *process) makeRoom() bool {
	var oldest *session
	for _, s := range p.byChannel {
		select {
		case s.free <- struct{}{}:
		default:
			continue
		}
		if oldest == nil || s.last.Before(oldest.last) {
			oldest, s = s, oldest
		}
		if s != nil {
			<-s.free
		}
	}
	if oldest == nil {
		return false
	}
	p.forget(oldest)
	if !p.about.canReopen() {
		p.bridge.log.Warn("a conversation is forgotten: the program has too many of them, and cannot take one up again", "sessions", maxSessions)
	}
	p.bridge.settling.Go(func() {
		p.closeSession(oldest)
		<-oldest.free
	})
	return true
}

// forget takes a session, which the caller has, out of the lists. p.mu is held.
func (p *process) forget(s *session) {
	s.over = true
	if p.byChannel[s.channel] == s {
		delete(p.byChannel, s.channel)
	}
	delete(p.byID, s.id)
}

// dropSession lets go of a session that the caller has.
func (p *process) dropSession(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(s)
}

// closeSession tells the program that a session is not needed for now.
func (p *process) closeSession(s *session) {
	if p.about.Can.Session.Close == nil || s.id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), upstream.ExitWithin)
	defer cancel()
	if err := p.peer.Call(ctx, "session/close", map[string]string{"sessionId": s.id}, &struct{}{}); err != nil {
		p.bridge.log.Debug("a session was not closed", "err", err)
	}
}

// closeIdleSessions closes what nobody has used for long, and what can be gone on
// with, until the program ends.
func (p *process) closeIdleSessions(ctx context.Context) {
	if p.about.Can.Session.Close == nil || !p.about.canReopen() {
		return
	}
	tick := time.NewTicker(p.bridge.idleFor / 5)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.Gone:
			return
		case <-tick.C:
		}
		for _, s := range p.takeIdle() {
			p.closeSession(s)
			<-s.free
		}
	}
}

// takeIdle takes the idle sessions out of the lists; the caller has them then.
func (p *process) takeIdle() (idle []*session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.byChannel {
		select {
		case s.free <- struct{}{}:
		default:
			continue
		}
		if time.Since(s.last) < p.bridge.idleFor {
			<-s.free
			continue
		}
		p.forget(s)
		idle = append(idle, s)
	}
	return idle
}

// openSession opens the session of a conversation: the one that it was before, if
// there was one and the program can go on with it, or a new one.
func (p *process) openSession(ctx context.Context, s *session, r *agent.Reply) error {
	ctx, cancel := context.WithTimeout(ctx, upstream.OpenWithin)
	defer cancel()
	defer p.stopIfStuck(ctx, time.Now())
	before, err := p.bridge.sessions.find(ctx, s.channel, r)
	if err != nil {
		return err
	}
	var got opened
	if before != "" && p.about.canReopen() {
		got, err = p.reopen(ctx, before)
		if err == nil {
			s.id, s.resumed = before, true
		} else if errors.Is(err, upstream.ErrGone) || ctx.Err() != nil {
			return p.openError(ctx, err)
		} else {
			p.bridge.log.Warn("a conversation begins anew: the program cannot take it up again", "err", err)
		}
	} else if before != "" {
		p.bridge.log.Info("a conversation begins anew: the program was started again, and cannot take one up", "program", p.about.Agent.Name)
	}
	if s.id == "" {
		if err := p.peer.Call(ctx, "session/new", p.openParams(""), &got); err != nil {
			return p.openError(ctx, err)
		}
		if s.id = got.Session; s.id == "" {
			return errors.New("the program behind this agent opened a session without a name")
		}
	}
	s.model = got.model()
	p.learnChoices(s, &got)
	if err := p.enterMode(ctx, s); err != nil {
		p.closeSession(s)
		return err
	}
	p.bridge.sessions.put(s.channel, s.id)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.byID[s.id] = s
	return nil
}

// stopIfStuck ends a program that has not said anything since then, while somebody
// waited for a session until ctx ended: others would wait in vain, too.
func (p *process) stopIfStuck(ctx context.Context, since time.Time) {
	if ctx.Err() != nil && time.Since(since) >= stuckAfter && p.peer.SilentSince(since) {
		p.bridge.log.Error("the program does not answer any more; it is stopped", "for", time.Since(since).Round(time.Second))
		p.Stop()
	}
}

func (p *process) openParams(id string) openParams {
	return openParams{Session: id, Cwd: p.bridge.folder.Path, Servers: []any{}}
}

// reopen goes on with a session. What it tells of the past meanwhile is not for the
// caller: nobody listens to it yet.
func (p *process) reopen(ctx context.Context, id string) (got opened, err error) {
	method := "session/load"
	if p.about.Can.Session.Resume != nil {
		method = "session/resume"
	}
	err = p.peer.Call(ctx, method, p.openParams(id), &got)
	return got, err
}

// openError says why there is no session.
func (p *process) openError(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("the program behind this agent did not open a session within %s", upstream.OpenWithin)
	}
	return p.publicError(err)
}

// publicError says what went wrong in the program's words, and what to do about it.
func (p *process) publicError(err error) error {
	fault, ok := errors.AsType[*rpc.Error](err)
	if !ok {
		return err
	}
	words := upstream.Shorten(upstream.HideSecrets(fault.Message, p.bridge.secrets...))
	if fault.Code == rpc.LoginNeeded {
		return beeos.Errorf(beeos.AgentServiceUnavailable, "the program behind this agent is not logged in (%s). Whoever runs it can log in with the program itself, as the same user, give it its key in the environment, or start the bridge with --acp-login and one of the ways that it offers: %s", words, p.about.listLogins())
	}
	if more := detailsOf(fault.Data); more != "" {
		words += ": " + upstream.Shorten(upstream.HideSecrets(more, p.bridge.secrets...))
	}
	return fmt.Errorf("the program behind this agent answered with an error: %s", words)
}

// detailsOf reads what an error says beside its message, as most programs put it.
func detailsOf(data json.RawMessage) string {
	var d struct {
		Details string `json:"details"`
		Message string `json:"message"`
	}
	if json.Unmarshal(data, &d) != nil {
		_ = json.Unmarshal(data, &d.Details) // a text, or something of its own
	}
	if d.Details == "" {
		return d.Message
	}
	return d.Details
}

// known is what the program calls our conversations. It is kept with each answer,
// too: a bridge that starts anew reads it there.
type known struct {
	mu sync.Mutex
	of map[string]string // channel -> session
}

const maxKnown = 10_000

// memory is what we keep with an answer.
type memory struct {
	Session string `json:"acp_session"`
}

func (k *known) put(channel, session string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.of) >= maxKnown {
		clear(k.of) // the answers have them
	}
	k.of[channel] = session
}

// find returns the session of a channel; "" = there was none.
func (k *known) find(ctx context.Context, channel string, r *agent.Reply) (string, error) {
	k.mu.Lock()
	id := k.of[channel]
	k.mu.Unlock()
	if id != "" {
		return id, nil
	}
	said, err := r.History(ctx)
	if err != nil {
		return "", err
	}
	for _, h := range slices.Backward(said) {
		var p struct {
			Memory memory `json:"memory"`
		}
		if h.Type == beeos.AgentReply && json.Unmarshal(h.Payload, &p) == nil && p.Memory.Session != "" {
			return p.Memory.Session, nil
		}
	}
	return "", nil
}
