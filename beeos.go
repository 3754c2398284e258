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
	"time"
)

// Version is what `beeos version` prints; release builds overwrite it.
var Version = "0.1.0-dev"

// NewID returns a UUIDv7. Its leading milliseconds keep new rows next to each
// other in every index, so that the cost of an insert does not grow with the
// table; the 74 random bits keep it unguessable enough for a name. Secrets
// come from NewSecret instead.
func NewID() string {
	var b [16]byte
	rand.Read(b[6:]) //nolint:errcheck // crypto/rand never fails since Go 1.24
	ms := uint64(time.Now().UnixMilli())
	b[0], b[1], b[2] = byte(ms>>40), byte(ms>>32), byte(ms>>24)
	b[3], b[4], b[5] = byte(ms>>16), byte(ms>>8), byte(ms)
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	return formatUUID(b)
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
