// Package wire is MCP as bytes: JSON-RPC messages read and written, the
// protocol's revisions, headers, metadata and capabilities, errors in its
// numbers, and the response that is JSON until the first event and a stream
// from then on. It knows no agents and decides nothing.
package wire

import (
	"bytes"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// Message is one JSON-RPC message. Its slices are ranges of the request body,
// which has passed the strict reader; nothing is decoded before it is needed.
type Message struct {
	ID     []byte // as the client wrote it; nil in a notification
	Method string // empty in a response
	Params []byte // an object, or nil
	Result []byte // of a response
	Fault  []byte // of a response: its error object
}

func (m *Message) IsResponse() bool { return m.Method == "" }

func (m *Message) IsNotification() bool { return m.ID == nil }

// ParseMessage reads the envelope. Members are matched by their exact names;
// what a message may not be is InvalidBody.
func ParseMessage(body []byte) (Message, error) {
	var m Message
	if Kind(body) != '{' {
		return m, beeos.Errorf(beeos.InvalidBody, "a JSON-RPC message is a JSON object")
	}
	var jsonrpc, method, id []byte
	for name, value := range strictjson.Fields(body) {
		switch name {
		case "jsonrpc":
			jsonrpc = value
		case "id":
			id = value
		case "method":
			method = value
		case "params":
			m.Params = value
		case "result":
			m.Result = value
		case "error":
			m.Fault = value
		}
	}
	if err := m.readID(id); err != nil {
		return m, err
	}
	if string(jsonrpc) != `"2.0"` {
		return m, beeos.Errorf(beeos.InvalidBody, `"jsonrpc" must be "2.0"`)
	}
	if method == nil {
		return m, m.checkResponse()
	}
	return m, m.readRequest(method)
}

func (m *Message) readID(id []byte) error {
	switch Kind(id) {
	case 0: // none
	case '"', '0':
		m.ID = id
	default:
		return beeos.Errorf(beeos.InvalidBody, `"id" must be a string or a number`)
	}
	return nil
}

func (m *Message) readRequest(method []byte) error {
	name, ok := strictjson.StringValue(method)
	if !ok || name == "" {
		return beeos.Errorf(beeos.InvalidBody, `"method" must be a string that names a method`)
	}
	m.Method = name
	switch Kind(m.Params) {
	case 0, '{':
	case 'n':
		m.Params = nil
	default:
		return beeos.Errorf(beeos.InvalidParam, `"params" must be an object`)
	}
	return nil
}

func (m *Message) checkResponse() error {
	if m.ID == nil || (m.Result == nil) == (m.Fault == nil) {
		return beeos.Errorf(beeos.InvalidBody, `a message has a "method", or an "id" with either a "result" or an "error"`)
	}
	if m.Fault != nil && Kind(m.Fault) != '{' {
		return beeos.Errorf(beeos.InvalidBody, `"error" must be an object`)
	}
	return nil
}

// Kind tells what a raw JSON value is by its first byte: '{', '[', '"', 't',
// 'f', 'n', '0' for every number, and 0 for no value.
func Kind(raw []byte) byte {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return 0
	}
	if c := raw[0]; c != '-' && (c < '0' || c > '9') {
		return c
	}
	return '0'
}
