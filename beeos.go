// Package beeos holds the words that every part of BeeOS shares: Agent and
// its Skills, Channel and Message, the Event that travels back to a caller,
// Key and Caller, the Frame between an agent and the agent gateway, and the
// one Error vocabulary. It imports the standard library alone, so that
// anything may import it.
package beeos

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"sync/atomic"
	"time"
)

// Version is what `beeos version` prints; release builds overwrite it.
var Version = "0.1.0-dev"

// NewID returns a UUIDv7. Its leading milliseconds keep new rows next to each
// other in every index, so that the cost of an insert does not grow with the
// table; the 62 random bits keep it unguessable enough for a name. Ids of one
// process rise, also within a millisecond, so a list by id is in the order in
// which things were made. Secrets come from NewSecret instead.
func NewID() string {
	var b [16]byte
	rand.Read(b[8:]) //nolint:errcheck // crypto/rand never fails since Go 1.24
	t := idTick()
	b[0], b[1], b[2] = byte(t>>52), byte(t>>44), byte(t>>36)
	b[3], b[4], b[5] = byte(t>>28), byte(t>>20), byte(t>>12)
	b[6], b[7] = byte(t>>8)&0x0f|0x70, byte(t)
	b[8] = b[8]&0x3f | 0x80
	return formatUUID(b)
}

// lastTick is the latest moment that an id was given.
var lastTick atomic.Uint64

// idTick is the time in 4096ths of a millisecond, later than at any call before.
func idTick() uint64 {
	now := time.Now()
	tick := uint64(now.UnixMilli())<<12 | uint64(now.Nanosecond()%1e6)<<12/1e6
	for {
		last := lastTick.Load()
		tick = max(tick, last+1)
		if lastTick.CompareAndSwap(last, tick) {
			return tick
		}
	}
}

// IDTime returns when NewID made an id; the zero time for anything else.
func IDTime(id string) time.Time {
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[14] != '7' {
		return time.Time{}
	}
	ms, err := strconv.ParseUint(id[:8]+id[9:13], 16, 48)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// IDFloor returns a string that sorts before every NewID made at t or later.
func IDFloor(t time.Time) string {
	ms := uint64(t.UnixMilli())
	return formatUUID([16]byte{byte(ms >> 40), byte(ms >> 32), byte(ms >> 24), byte(ms >> 16), byte(ms >> 8), byte(ms)})
}

func formatUUID(b [16]byte) string {
	var s [36]byte
	hex.Encode(s[0:8], b[0:4])
	s[8] = '-'
	hex.Encode(s[9:13], b[4:6])
	s[13] = '-'
	hex.Encode(s[14:18], b[6:8])
	s[18] = '-'
	hex.Encode(s[19:23], b[8:10])
	s[23] = '-'
	hex.Encode(s[24:36], b[10:16])
	return string(s[:])
}

// NewSecret returns prefix followed by 256 random bits in hex.
func NewSecret(prefix string) string {
	var b [32]byte
	rand.Read(b[:]) //nolint:errcheck // crypto/rand never fails since Go 1.24
	return prefix + hex.EncodeToString(b[:])
}
