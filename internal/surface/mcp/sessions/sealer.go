package sessions

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"

	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/seal"
)

// Sealer turns sessions and asks into unforgeable names. The agent and the
// principal are not inside but authenticated beside the content: a name that
// somebody else presents, or presents to another agent, simply does not open.
type Sealer struct{ sealer *seal.Sealer }

const (
	SealedSession      = 's'
	SealedAsk          = 'a'
	SealedState        = 'r'
	SealedEvent        = 'e'
	SealedOldTransport = 'o'
	sealLayout         = 1 // of the bytes inside; the first byte of every name
	sessionSize        = 2 + 8 + 16
)

func newSealer(secret []byte) (*Sealer, error) {
	key := sha256.Sum256(secret)
	sealer, err := seal.New(key[:])
	return &Sealer{sealer}, err
}

func (s *Sealer) Seal(what byte, agentID, principal string, plain []byte) string {
	sealed := s.sealer.Seal([]byte{sealLayout}, plain, boundTo(what, agentID, principal))
	return base64.RawURLEncoding.EncodeToString(sealed)
}

func (s *Sealer) Open(what byte, agentID, principal, name string) ([]byte, bool) {
	sealed, err := base64.RawURLEncoding.DecodeString(name)
	if err != nil || len(sealed) == 0 || sealed[0] != sealLayout {
		return nil, false
	}
	plain, err := s.sealer.Open(sealed[1:], boundTo(what, agentID, principal))
	return plain, err == nil
}

// boundTo is what a name is valid for. An agent id has no NUL in it.
func boundTo(what byte, agentID, principal string) string {
	return string(rune(what)) + agentID + "\x00" + principal
}

// SessionID names a session of this agent and principal.
func (s *Sealer) SessionID(agentID, principal string, ss *Session) string {
	b := make([]byte, 2, sessionSize)
	b[0], b[1] = byte(ss.Version), byte(ss.Can)
	b = binary.BigEndian.AppendUint64(b, uint64(ss.born.Unix()))
	id, _ := hex.DecodeString(strings.ReplaceAll(strings.TrimPrefix(ss.Channel, "ch-"), "-", ""))
	return s.Seal(SealedSession, agentID, principal, append(b, id...))
}

// session opens an Mcp-Session-Id.
func (s *Sealer) session(agentID, principal, name string) (*Session, bool) {
	b, ok := s.Open(SealedSession, agentID, principal, name)
	if !ok || len(b) != sessionSize || int(b[0]) >= len(wire.VersionNames) {
		return nil, false
	}
	id := hex.EncodeToString(b[10:])
	return &Session{
		Version: wire.Version(b[0]),
		Can:     wire.Capability(b[1]),
		born:    time.Unix(int64(binary.BigEndian.Uint64(b[2:])), 0),
		Channel: "ch-" + id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:],
	}, true
}
