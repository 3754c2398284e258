package bus

import (
	"encoding/json"

	"github.com/beeos/beeos"
)

const subjectChannel = "c." // + channel id

// Publish sends a live event to everyone who watches its channel. Handlers on
// this node run before it returns.
func (b *Bus) Publish(ev beeos.Event) {
	b.publishHere(ev)
	if !b.peers() {
		return
	}
	data, err := json.Marshal(ev)
	if err != nil {
		b.log.Error("bus: encode event", "err", err)
		return
	}
	b.send(subjectChannel+ev.Channel, data)
}

// Watch calls handle for every live event of the channel until stop. handle
// runs on the publisher's goroutine and must not block.
func (b *Bus) Watch(channel string, handle func(beeos.Event)) (stop func()) {
	w := &watcher{handle: handle}
	b.mu.Lock()
	defer b.mu.Unlock()
	set := b.watchers[channel]
	if set == nil {
		set = map[*watcher]struct{}{}
		b.watchers[channel] = set
		// One subscription per channel and node: a second would hand every
		// event to every watcher twice.
		if !b.alone {
			sub, err := b.nc.ChanSubscribe(subjectChannel+channel, b.inbox)
			if err != nil {
				b.log.Warn("bus: watch channel; live events of other nodes will be missed", "err", err)
			}
			w.sub = sub
		}
	}
	set[w] = struct{}{}
	return func() { b.unwatch(channel, w) }
}

func (b *Bus) unwatch(channel string, w *watcher) {
	b.mu.Lock()
	defer b.mu.Unlock()
	set := b.watchers[channel]
	delete(set, w)
	if len(set) == 0 {
		delete(b.watchers, channel)
	}
	if w.sub == nil {
		return
	}
	for heir := range set { // someone still watches: the subscription passes on
		heir.sub = w.sub
		return
	}
	_ = w.sub.Unsubscribe() // fails only when the connection is gone
}

func (b *Bus) publishHere(ev beeos.Event) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for w := range b.watchers[ev.Channel] {
		w.handle(ev)
	}
}

func (b *Bus) send(subject string, data []byte) {
	if err := b.nc.Publish(subject, data); err != nil {
		b.log.Warn("bus: publish", "subject", subject, "err", err)
	}
}
