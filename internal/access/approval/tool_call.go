package approval

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/beeos/beeos"
)

// ToolCall is a call that an agent wants to make and asks about first.
type ToolCall struct {
	Agent     *beeos.Agent // its owner decides
	Caller    string       // the principal whose request led to it
	Channel   string
	Turn      string
	Deadline  time.Time // of the turn; zero = none
	Request   string    // the agent's own id of its question
	Skill     string    // the server that the tool is on; "" = the agent's own
	Tool      string
	Arguments json.RawMessage
	Auto      bool // go ahead unless the owner wants to be asked
}

// maxName bounds what an agent may call things; arguments are bounded by the
// frame that carries them.
const maxName = 256

// check refuses a question that nobody could answer.
func (c *ToolCall) check() error {
	switch {
	case c.Request == "" || c.Tool == "":
		return beeos.Errorf(beeos.MissingParam, "an approve frame needs request_id and tool")
	case len(c.Tool) > maxName || len(c.Skill) > maxName || len(c.Request) > maxName:
		return beeos.Errorf(beeos.InvalidParam, "request_id, skill and tool may have at most %d bytes", maxName)
	}
	return nil
}

// canonicalArguments returns the arguments without the space between their
// tokens, which means nothing, and the hash that an approval knows them by.
func (c *ToolCall) canonicalArguments() (arguments json.RawMessage, hash []byte) {
	var b bytes.Buffer
	if json.Compact(&b, c.Arguments) != nil {
		b.Reset()
		b.Write(c.Arguments)
	}
	sum := sha256.Sum256(b.Bytes())
	return b.Bytes(), sum[:]
}

// sameAs reports whether two questions are about the same call.
func (c *ToolCall) sameAs(other *ToolCall) bool {
	_, mine := c.canonicalArguments()
	_, theirs := other.canonicalArguments()
	return c.Turn == other.Turn && c.Skill == other.Skill && c.Tool == other.Tool && bytes.Equal(mine, theirs)
}
