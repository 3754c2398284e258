package chat

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/transcript"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const (
	minPause       = 50 * time.Millisecond // between two events of a stream
	bytesPerSecond = 256 << 10             // a long answer is sent again less often
	lookEvery      = 500 * time.Millisecond
)

// streamConversation streams a conversation: what is said the moment it is said,
// and the rest of the page at most twice a second. An event has the whole state
// of each turn that it is about, so after an interruption on either side the
// browser misses nothing and gets nothing twice.
func (c *Chat) streamConversation(r *page.Request, here conversation) (page.Answer, error) {
	t, err := c.loadTranscript(r, here, messageCount(r))
	if err != nil {
		return nil, err
	}
	s := &stream{Chat: c, request: r, transcript: t, shown: newRendering(c.Pages, t), has: cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("state"))}
	return page.Writer(func(w http.ResponseWriter) error {
		open, err := c.Pages.OpenStream(r)
		if err != nil {
			return err
		}
		defer open.Close()
		s.out = httpd.NewSSE(w)
		defer s.out.Close()
		s.out.KeepAlive(page.KeepAlive)
		if err := s.follow(here.channel.ID); err != nil && r.Context().Err() == nil {
			c.Log.WarnContext(r.Context(), "live updates of a conversation stopped", "channel", here.channel.ID, "err", err)
		}
		return nil
	}), s.shown.update()
}

// stream is one stream of a conversation.
type stream struct {
	*Chat
	request    *page.Request
	transcript *transcript.Transcript
	shown      *rendering
	out        *httpd.SSE
	has        string // checksum of what the browser says it has
	frame      []byte // what was sent of the page around the transcript
}

// follow adds to the transcript what happens in the channel, while run sends it.
func (s *stream) follow(channel string) error {
	ctx, cancel := context.WithCancel(s.request.Context())
	defer cancel()
	var g errgroup.Group
	g.Go(func() error {
		defer cancel()
		for ev, err := range s.Calls.Watch(ctx, channel, s.transcript.LastOffset()) {
			if err != nil {
				return err
			}
			s.transcript.AddEvent(&ev)
		}
		return nil
	})
	err := s.run(ctx)
	cancel()
	return cmp.Or(err, g.Wait())
}

// run sends what has changed until the visitor is gone, or may no longer look.
func (s *stream) run(ctx context.Context) error {
	wake, leave := s.Pages.JoinStreams()
	defer leave()
	looked := time.Now()
	frame, err := s.renderFrame()
	for err == nil {
		size := 0
		if size, err = s.sendChanges(frame); err != nil {
			return nil // the browser is gone
		}
		if !s.wait(ctx, wake, looked, minPause+time.Duration(size)*time.Second/bytesPerSecond) {
			return nil
		}
		if s.Pages.RefreshVisitor(ctx, s.request.Visitor) != nil {
			return nil // signed out; the browser learns so when it tries again
		}
		if time.Since(looked) >= s.lookEvery() {
			looked = time.Now()
			if frame, err = s.renderFrame(); err != nil {
				break
			}
		}
		err = s.shown.update()
	}
	if code := beeos.CodeOf(err); code == beeos.NotFound || code == beeos.AgentNotFound {
		return nil // deleted, or out of reach now; the browser learns so when it tries again
	}
	return err
}

// sendChanges sends what the browser does not have, and returns how much that
// was.
func (s *stream) sendChanges(frame []byte) (int, error) {
	body := s.shown.changes(s.has)
	if !bytes.Equal(frame, s.frame) {
		body = append(body, frame...)
		s.frame = frame
	}
	if len(body) == 0 {
		return 0, nil
	}
	return len(body), s.out.Event("", s.shown.checksum(), body)
}

// wait returns when there may be something to show, but not before pause is
// over; false when ctx is.
func (s *stream) wait(ctx context.Context, wake <-chan struct{}, looked time.Time, pause time.Duration) bool {
	select {
	case <-time.After(pause):
	case <-ctx.Done():
		return false
	}
	select {
	case <-s.transcript.Changed:
		return true
	case <-wake: // somebody called, or decided; not for every call of others
	case <-time.After(page.MaxRefresh):
		return true
	case <-ctx.Done():
		return false
	}
	select {
	case <-s.transcript.Changed:
	case <-time.After(s.lookEvery() - time.Since(looked)):
	case <-ctx.Done():
		return false
	}
	return true
}

func (s *stream) lookEvery() time.Duration { return s.Pages.Pace(s.request.Visitor, lookEvery) }

// renderFrame looks for what the events of the conversation do not tell, and
// renders the page around the transcript.
func (s *stream) renderFrame() ([]byte, error) {
	return s.Pages.RenderLive(s.request, page.With(s.findConversation, func(r *page.Request, here conversation) (page.Answer, error) {
		if err := s.addFindings(r, here.agent, s.transcript, false); err != nil {
			return nil, err
		}
		d, err := s.loadPage(r, here, "")
		d.Open = s.transcript.IsBusy()
		return page.View{Page: "chat", Data: d}, err
	}))
}
