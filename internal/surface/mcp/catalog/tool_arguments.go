package catalog

import (
	"encoding/json"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// Arguments that every tool takes besides its own.
const (
	argIdempotencyKey = "idempotency_key"
	argContextID      = "context_id"
	argAttachments    = "attachments"
)

// Arguments is what a client gave to a tool, sorted out.
type Arguments struct {
	Own            []byte // an object: the tool's own, as the client wrote them
	IdempotencyKey string
	ContextID      string
	Attachments    []files.Attachment
}

// SplitArguments takes the reserved arguments out of raw, which is an object or
// nil.
func (t *Tool) SplitArguments(raw []byte) (Arguments, error) {
	a := Arguments{Own: raw}
	if wire.Kind(raw) != '{' {
		a.Own = []byte(`{}`)
		return a, nil
	}
	reserved := false
	for name, value := range strictjson.Fields(raw) {
		ours, err := t.readReserved(&a, name, value)
		if err != nil {
			return a, err
		}
		reserved = reserved || ours
	}
	if reserved {
		a.Own = wire.PruneMembers(raw, t.isReserved)
	}
	a.Own = t.dropNulls(a.Own)
	return a, nil
}

// dropNulls leaves out arguments that are null and need not be there, where the
// schema takes no null. Some clients fill in every argument that a model left
// out that way, and mean the same.
func (t *Tool) dropNulls(args []byte) []byte {
	nulls := map[string]bool{}
	for name, value := range strictjson.Fields(args) {
		if wire.Kind(value) == 'n' {
			nulls[name] = true
		}
	}
	if len(nulls) == 0 {
		return args
	}
	s, err := t.Schema()
	if err != nil {
		return args // whoever checks them says why they cannot be
	}
	return wire.PruneMembers(args, func(name string) bool { return nulls[name] && s.MayOmitNull(name) })
}

// readReserved reads one argument if it is ours.
func (t *Tool) readReserved(a *Arguments, name string, value []byte) (ours bool, err error) {
	if !t.isReserved(name) {
		return false, nil
	}
	if wire.Kind(value) == 'n' {
		return true, nil
	}
	text, isText := strictjson.StringValue(value)
	switch name {
	case argIdempotencyKey:
		if a.IdempotencyKey = text; text == "" {
			return true, invoke.ErrIdempotencyKey
		}
	case argContextID:
		if a.ContextID = text; !isText {
			return true, beeos.Errorf(beeos.InvalidParam, "context_id must be a string")
		}
	case argAttachments:
		if json.Unmarshal(value, &a.Attachments) != nil {
			return true, beeos.Errorf(beeos.InvalidParam, "attachments must be a list of {file_id, filename, content_type}")
		}
	}
	return true, nil
}

func (t *Tool) isReserved(name string) bool {
	switch name {
	case argIdempotencyKey, argContextID, argAttachments:
		return !t.ownNames[name]
	}
	return false
}
