package httpd

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos"
)

// crowd bounds the connections of all listeners together, so that there is always
// a file descriptor for the database, for files and for other servers, and those
// who are in are served. Who comes when it is full is told so, and goes.
type crowd struct {
	most   int           // connections that are served; 0 = nobody knows a limit
	places chan struct{} // one for each connection, those that are refused included
	inside atomic.Int64
}

const (
	ownShare    = 4 // the part of all descriptors that is kept for what is not a connection of a client
	ownAtLeast  = 64
	ownAtMost   = 1024
	refusing    = 16 // connections that are being refused at the same time
	leastServed = 16
)

// newCrowd makes one for a process with so many descriptors.
func newCrowd(descriptors int) *crowd {
	if descriptors <= 0 {
		return &crowd{}
	}
	own := min(max(descriptors/ownShare, ownAtLeast), ownAtMost)
	c := &crowd{most: max(leastServed, descriptors-own-refusing)}
	c.places = make(chan struct{}, c.most+refusing)
	return c
}

// door is a listener through which a crowd comes in.
type door struct {
	net.Listener
	crowd *crowd
	shut  chan struct{}
	once  sync.Once
}

func (c *crowd) newDoor(l net.Listener) *door {
	return &door{Listener: l, crowd: c, shut: make(chan struct{})}
}

// Close lets nobody in any more.
func (d *door) Close() error {
	d.once.Do(func() { close(d.shut) })
	return d.Listener.Close()
}

// Accept waits for a connection, and before that for room to refuse it.
func (d *door) Accept() (net.Conn, error) {
	c := d.crowd
	if c.most == 0 {
		return d.Listener.Accept()
	}
	select {
	case c.places <- struct{}{}:
	case <-d.shut:
		return nil, net.ErrClosed
	}
	conn, err := d.Listener.Accept()
	if err != nil {
		<-c.places
		return nil, err
	}
	in := &visitor{Conn: conn, crowd: c}
	if in.refused = c.inside.Add(1) > int64(c.most); in.refused {
		c.inside.Add(-1)
	}
	return in, nil
}

// visitor is a connection that came in.
type visitor struct {
	net.Conn
	crowd   *crowd
	refused bool
	left    sync.Once
}

func (v *visitor) Close() error {
	err := v.Conn.Close()
	v.left.Do(func() {
		if !v.refused {
			v.crowd.inside.Add(-1)
		}
		<-v.crowd.places
	})
	return err
}

type crowdKey struct{}

// noteCrowd marks the requests of a connection that came when it was full.
func noteCrowd(ctx context.Context, conn net.Conn) context.Context {
	if t, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
		conn = t.NetConn()
	}
	if v, ok := conn.(*visitor); ok && v.refused {
		return context.WithValue(ctx, crowdKey{}, true)
	}
	return ctx
}

var errFull = &beeos.Error{
	Code: beeos.AgentServiceUnavailable, RetryAfter: time.Second,
	Message: "the server has as many connections as it can have; try again in a moment, or raise its limit of open files",
}

// isCrowded reports whether the connection of a request came when it was full. It
// has this one request.
func isCrowded(w http.ResponseWriter, r *http.Request) bool {
	if r.Context().Value(crowdKey{}) == nil {
		return false
	}
	w.Header().Set("Connection", "close")
	return true
}
