package httpd

import (
	"io"
	"net/http"
	"sync"

	"github.com/beeos/beeos"
)

// All bodies that are on their way at one moment share this much memory, on all
// listeners: whoever begins thousands of large ones and ends none can fill no
// more, and nobody more than their share. A small part of each is free, so that
// short requests always get in.
const (
	arrivingMost  = 64 << 20
	arrivingShare = arrivingMost / 2 // of one person, and of all strangers together
	arrivingFree  = 64 << 10
	announcedMost = 8 << 10 // what gets its memory when it is announced
)

var errNoRoom = &beeos.Error{
	Code: beeos.AgentServiceUnavailable, RetryAfter: bodyTime,
	Message: "the server is receiving too much at once; send the request again in a moment",
}

// arriving is what has arrived of bodies that have not ended.
var arriving = room{by: map[string]int64{}}

type room struct {
	mu    sync.Mutex
	total int64
	by    map[string]int64 // sender
}

func (a *room) take(sender string, n int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.total+n > arrivingMost || a.by[sender]+n > arrivingShare {
		return false
	}
	a.total += n
	a.by[sender] += n
	return true
}

func (a *room) giveBack(sender string, n int64) {
	if n == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.total -= n
	if a.by[sender] -= n; a.by[sender] == 0 {
		delete(a.by, sender)
	}
}

// arrivingBody takes room for what has arrived.
type arrivingBody struct {
	io.Reader
	sender     string
	size, held int64
}

func (b *arrivingBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.size += int64(n)
	if more := b.size - arrivingFree - b.held; more > 0 {
		if !arriving.take(b.sender, more) {
			return 0, errNoRoom
		}
		b.held += more
	}
	return n, err
}

func (b *arrivingBody) release() { arriving.giveBack(b.sender, b.held) }

// SetSender says which person has sent a request, once that is known. Until then
// it is a stranger's.
func SetSender(r *http.Request, userID string) {
	if r.ContentLength >= 0 && r.ContentLength <= announcedMost {
		return
	}
	if resp := responseOf(r.Context()); resp != nil {
		resp.sender.Store(&userID) // streams look at their credential again, from elsewhere
	}
}

func senderOf(r *http.Request) string {
	if resp := responseOf(r.Context()); resp != nil {
		if who := resp.sender.Load(); who != nil {
			return *who
		}
	}
	return ""
}
