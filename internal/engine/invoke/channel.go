package invoke

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/engine/task"
)

// ContextChannel maps a client's context id to a channel of this caller and
// agent: the same three always meet in the same channel, without a table. An app
// that a person has let in shares none with the person's own programs, or with
// another app. A channel id is its own context id.
func ContextChannel(caller *beeos.Caller, agentID, contextID string) string {
	if isChannelID(contextID) {
		return contextID
	}
	sum := sha256.Sum256([]byte(caller.Principal() + "\x00" + agentID + "\x00" + contextID))
	id := formatChannelID(sum[:], '8')
	if caller.IsApp() {
		id = signChannel(id, caller.CredentialID)
	}
	return id
}

// newChannelID is the id of a new channel of the caller's.
func newChannelID(caller *beeos.Caller) string {
	if !caller.IsApp() {
		return beeos.NewChannelID()
	}
	var random [16]byte
	rand.Read(random[:]) // never fails
	return signChannel(formatChannelID(random[:], '4'), caller.CredentialID)
}

// signChannel puts into the second half of an app's channel id by which grant the
// app made it. Ids of contexts can be worked out and others be seen, and the
// channels belong to the person; so an app has to show that one is its own.
func signChannel(id, grant string) string {
	half := id[:len(id)-17]
	sum := sha256.Sum256([]byte(grant + "\x00" + half))
	h := hex.EncodeToString(sum[:8])
	return half + h[:4] + "-" + h[4:]
}

// mayName reports whether the caller may name this channel. That it belongs to
// the caller's person is looked at with the channel.
func mayName(caller *beeos.Caller, channel string) bool {
	return !caller.IsApp() || !isChannelID(channel) || signChannel(channel, caller.CredentialID) == channel
}

func formatChannelID(b []byte, version byte) string {
	h := hex.EncodeToString(b[:16])
	return "ch-" + h[:8] + "-" + h[8:12] + "-" + string(version) + h[13:16] + "-" + h[16:20] + "-" + h[20:32]
}

// isChannelID: the id ends up in frames and subjects, so it must look like one
// of ours to the letter.
func isChannelID(s string) bool {
	id, ok := strings.CutPrefix(s, "ch-")
	if !ok || len(id) != 36 {
		return false
	}
	for i, c := range []byte(id) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		hexDigit := c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
		if dash != (c == '-') || !dash && !hexDigit {
			return false
		}
	}
	return true
}

// isContextChannel: the id is one that ContextChannel makes of what others may
// know. Who names it has it from us, so it is there; it is not for anybody to
// make, and so to take from whose context it is.
func isContextChannel(s string) bool { return isChannelID(s) && s[len("ch-")+14] == '8' }

// AttachTo adds files of a caller's to what they say to a turn that paused: as
// parts, and as a list for its payload.
func (c *Calls) AttachTo(ctx context.Context, caller beeos.Caller, m *beeos.Message, given []files.Attachment) (list json.RawMessage, err error) {
	m.Parts, list, err = c.opt.Files.Attach(ctx, caller.Principal(), m.Parts, given, c.opt.Now().Add(turnLimit))
	return list, err
}

// Continue stores what a user says to a turn that paused, input or a grant,
// and brings it to the agent that asked.
func (c *Calls) Continue(ctx context.Context, m beeos.Message) (beeos.Message, error) {
	if m.Type != beeos.Continue && m.Type != beeos.AuthGrant {
		return beeos.Message{}, beeos.Errorf(beeos.InvalidParam, "type must be %s or %s", beeos.Continue, beeos.AuthGrant)
	}
	d, err := c.opt.Ledger.OpenDelivery(ctx, m.InReplyTo)
	if err == nil && d.Channel != m.Channel {
		err = beeos.Errorf(beeos.NotFound, "there is no open request %s on this channel", m.InReplyTo)
	}
	if err != nil {
		return beeos.Message{}, err
	}
	event, to := task.OnContinue, beeos.AgentInputRequired
	if m.Type == beeos.AuthGrant {
		event, to = task.OnAuthGrant, beeos.AgentAuthRequired
	}
	if now := task.StatusOf(&ledger.Request{Open: &d}); !task.Knows(now, event) {
		return beeos.Message{}, beeos.Errorf(beeos.Conflict, "the request is %s, not waiting for a %s; look at it again before you go on", now, m.Type)
	}
	m.State = beeos.StateCompleted
	// Not cut short when the caller leaves: what is stored must reach the agent.
	if m, err = c.opt.Ledger.AppendAnswer(context.WithoutCancel(ctx), m, to); err != nil {
		return beeos.Message{}, fmt.Errorf("store an answer: %w", err)
	}
	frame, err := json.Marshal(beeos.Frame{
		Type: beeos.FrameType(m.Type), AgentID: d.AgentID, ChannelID: m.Channel, MessageID: m.InReplyTo, Offset: m.Offset,
		PublisherID: m.Publisher, Body: m.Body, Parts: m.Parts, Payload: m.Payload,
	})
	if err != nil {
		return beeos.Message{}, fmt.Errorf("encode %s: %w", m.Type, err)
	}
	c.opt.Bus.Control(bus.Control{Kind: bus.Continue, ID: m.InReplyTo, Channel: m.Channel, Data: frame})
	return m, nil
}

// Answer carries a caller's answer back to the agent that asked.
func (c *Calls) Answer(_ context.Context, askID string, result json.RawMessage, fault *beeos.FrameFault) error {
	data, err := json.Marshal(struct {
		Result json.RawMessage   `json:"result,omitempty"`
		Error  *beeos.FrameFault `json:"error,omitempty"`
	}{result, fault})
	if err != nil {
		return beeos.Wrap(beeos.InvalidBody, err, "the answer cannot be encoded")
	}
	c.opt.Bus.Control(bus.Control{Kind: bus.Answer, ID: askID, Data: data})
	return nil
}
