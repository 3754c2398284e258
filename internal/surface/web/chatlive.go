package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const (
	talkEvery = 50 * time.Millisecond // between two looks of what an agent is saying
	talkSlow  = 256 << 10             // bytes a second: a long answer is shown anew less often
	lookEvery = 500 * time.Millisecond
)

// shownTalk is a talk as one browser has it: a part of the page for each turn,
// by its checksum, and the checksum of what was sent of it.
type shownTalk struct {
	s     *Site
	t     *talk
	order []string
	parts map[string][]byte
	sums  map[string]string
	sent  map[string]string
}

func newShownTalk(s *Site, t *talk) *shownTalk {
	return &shownTalk{s: s, t: t, parts: map[string][]byte{}, sums: map[string]string{}, sent: map[string]string{}}
}

// render makes the parts of turns that may look different now.
func (d *shownTalk) render() error {
	d.t.mu.Lock()
	defer d.t.mu.Unlock()
	for _, u := range d.t.turns {
		_, known := d.parts[u.ID]
		if known && u.shown {
			continue
		}
		part, err := d.s.part("chat", "turn", u)
		if err != nil {
			return err
		}
		if !known {
			d.order = append(d.order, u.ID)
		}
		d.parts[u.ID], d.sums[u.ID] = part, sumOf(part)
		u.shown = !u.Open && u.settled
	}
	return nil
}

// all is the whole talk.
func (d *shownTalk) all() []byte {
	var b bytes.Buffer
	for _, id := range d.order {
		b.Write(d.parts[id])
	}
	return b.Bytes()
}

// state names what the talk looks like.
func (d *shownTalk) state() string {
	var b bytes.Buffer
	for _, id := range d.order {
		b.WriteString(d.sums[id])
	}
	return sumOf(b.Bytes())
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// changes is what a browser needs that has what was sent before; at first that
// is everything, unless it has that from elsewhere.
func (d *shownTalk) changes(has string) []byte {
	var b bytes.Buffer
	put := func(target, how string, parts []byte) {
		b.WriteString(`<hx-partial hx-target="` + target + `" hx-swap="` + how + `">`)
		b.Write(parts)
		b.WriteString(`</hx-partial>`)
	}
	if len(d.sent) == 0 {
		if has != d.state() {
			put("#talk", "innerMorph", d.all())
		}
		maps.Copy(d.sent, d.sums)
	}
	for _, id := range d.order {
		sum, known := d.sent[id]
		switch {
		case !known:
			put("#talk", "beforeend", d.parts[id])
		case sum != d.sums[id]:
			put("#turn-"+id, "outerMorph", d.parts[id])
		}
		d.sent[id] = d.sums[id]
	}
	return b.Bytes()
}

// chatLive streams a conversation: what is said the moment it is, and twice a
// second at most what else the page shows. An event has the whole state of
// each turn that it is about, so a browser that was away, or a server, misses
// nothing and gets nothing twice.
func (s *Site) chatLive(w http.ResponseWriter, r *http.Request, v *visit) error {
	a, ch, err := s.conversation(r, v)
	if err != nil {
		return err
	}
	t, err := s.talk(r.Context(), v, a, &ch, talkSize(r))
	if err != nil {
		return err
	}
	shown := newShownTalk(s, t)
	if err := shown.render(); err != nil {
		return err
	}
	has := r.Header.Get("Last-Event-ID")
	if has == "" {
		has = r.URL.Query().Get("state")
	}
	l := &liveTalk{Site: s, v: v, r: r, channel: ch.ID, t: t, shown: shown, has: has}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	l.out = httpd.NewSSE(w)
	defer l.out.Close()
	l.out.KeepAlive(liveComment)
	var g errgroup.Group
	g.Go(func() error {
		defer cancel()
		for ev, err := range s.Calls.Watch(ctx, ch.ID, t.last) {
			if err != nil {
				return err
			}
			t.take(&ev)
		}
		return nil
	})
	err = l.send(ctx)
	cancel()
	if e := g.Wait(); err == nil {
		err = e
	}
	if err != nil && r.Context().Err() == nil {
		s.Log.WarnContext(r.Context(), "a conversation stopped being live", "channel", ch.ID, "err", err)
	}
	return nil
}

// liveTalk is one stream of a conversation.
type liveTalk struct {
	*Site
	v       *visit
	r       *http.Request
	channel string
	t       *talk
	shown   *shownTalk
	out     *httpd.SSE
	has     string // what the browser says that it has
	frame   []byte // what was sent of the page around the talk
}

// send sends what has changed until the visitor is gone, or may not look any
// more.
func (l *liveTalk) send(ctx context.Context) error {
	wake, leave := l.viewers.join()
	defer leave()
	looked := time.Now()
	frame, err := l.around(ctx)
	for err == nil {
		size := 0
		if size, err = l.flush(frame); err != nil {
			return nil // the browser is gone
		}
		if !l.wait(ctx, wake, looked, talkEvery+time.Duration(size)*time.Second/talkSlow) {
			return nil
		}
		if l.v.User, _, err = l.People.Session(ctx, l.v.token); err != nil {
			return nil // signed out; the browser's next try is told so
		}
		if time.Since(looked) >= lookEvery {
			looked = time.Now()
			if frame, err = l.around(ctx); err != nil {
				break
			}
		}
		err = l.shown.render()
	}
	if code := beeos.CodeOf(err); code == beeos.NotFound || code == beeos.AgentNotFound {
		return nil // deleted, or out of reach now; the browser's next try is told so
	}
	return err
}

// flush sends what the browser does not have, and returns how much that was.
func (l *liveTalk) flush(frame []byte) (int, error) {
	body := l.shown.changes(l.has)
	if !bytes.Equal(frame, l.frame) {
		body = append(body, frame...)
		l.frame = frame
	}
	if len(body) == 0 {
		return 0, nil
	}
	return len(body), l.out.Event("", l.shown.state(), body)
}

// wait returns when there may be something to show, but not before pause is
// over; false when ctx is.
func (l *liveTalk) wait(ctx context.Context, wake chan struct{}, looked time.Time, pause time.Duration) bool {
	least, most := time.NewTimer(pause), time.NewTimer(liveAtLeast)
	defer least.Stop()
	defer most.Stop()
	select {
	case <-least.C:
	case <-ctx.Done():
		return false
	}
	select {
	case <-l.t.news:
		return true
	case <-wake: // somebody called, or decided; not for every call of others
	case <-most.C:
		return true
	case <-ctx.Done():
		return false
	}
	rest := time.NewTimer(lookEvery - time.Since(looked))
	defer rest.Stop()
	select {
	case <-l.t.news:
	case <-rest.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// around looks at what is not in the talk's own events, and renders the page
// around it.
func (l *liveTalk) around(ctx context.Context) ([]byte, error) {
	a, ch, err := l.conversation(l.r, l.v)
	if err != nil {
		return nil, err
	}
	if err := l.lookAround(ctx, l.v, a, l.t, false); err != nil {
		return nil, err
	}
	d, err := l.chatData(ctx, l.v, a, &ch, url.Values{})
	if err != nil {
		return nil, err
	}
	d.Open = l.t.busy()
	return l.withBadge(l.v, func(context.Context) ([]byte, error) { return l.part("chat", "live", d) })(ctx)
}
