package mcp

import (
	"encoding/json"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// Arguments that every tool takes besides its own.
const (
	argIdempotencyKey = "idempotency_key"
	argContextID      = "context_id"
	argAttachments    = "attachments"
)

// arguments is what a client gave to a tool, sorted out.
type arguments struct {
	own            []byte // an object: the tool's own, as the client wrote them
	idempotencyKey string
	contextID      string
	attachments    []invoke.Attachment
}

// splitArguments takes the reserved arguments out of raw, which is an object or nil.
func (t *tool) splitArguments(raw []byte) (arguments, error) {
	a := arguments{own: raw}
	if kind(raw) != '{' {
		a.own = []byte(`{}`)
		return a, nil
	}
	reserved := false
	for name, value := range httpd.Fields(raw) {
		ours, err := t.readReserved(&a, name, value)
		if err != nil {
			return a, err
		}
		reserved = reserved || ours
	}
	if reserved {
		a.own = t.withoutReserved(raw)
	}
	return a, nil
}

// readReserved reads one argument if it is ours.
func (t *tool) readReserved(a *arguments, name string, value []byte) (ours bool, err error) {
	if !t.isReserved(name) {
		return false, nil
	}
	if kind(value) == 'n' {
		return true, nil
	}
	ok := true
	switch name {
	case argIdempotencyKey:
		a.idempotencyKey, ok = httpd.StringValue(value)
		if !ok || a.idempotencyKey == "" || len(a.idempotencyKey) > 128 {
			return true, beeos.Errorf(beeos.InvalidParam, "idempotency_key must be a string of 1 to 128 characters")
		}
	case argContextID:
		a.contextID, ok = httpd.StringValue(value)
		if !ok || len(a.contextID) > 128 {
			return true, beeos.Errorf(beeos.InvalidParam, "context_id must be a string of at most 128 characters")
		}
	case argAttachments:
		if json.Unmarshal(value, &a.attachments) != nil {
			return true, beeos.Errorf(beeos.InvalidParam, "attachments must be a list of {file_id, filename, content_type}")
		}
	}
	return true, nil
}

func (t *tool) isReserved(name string) bool {
	switch name {
	case argIdempotencyKey, argContextID, argAttachments:
		return !t.ownNames[name]
	}
	return false
}

func (t *tool) withoutReserved(raw []byte) []byte { return pruneMembers(raw, t.isReserved) }
