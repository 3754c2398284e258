package mcp

import (
	"bytes"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// message is one JSON-RPC message. Its slices are ranges of the request body,
// which has passed the strict reader; nothing is decoded before it is needed.
type message struct {
	id     []byte // as the client wrote it; nil in a notification
	method string // empty in a response
	params []byte // an object, or nil
	result []byte // of a response
	fault  []byte // of a response: its error object
}

func (m *message) isResponse() bool { return m.method == "" }

func (m *message) isNotification() bool { return m.id == nil }

// parseMessage reads the envelope. Members are matched by their exact names; what a
// message may not be is InvalidBody.
func parseMessage(body []byte) (message, error) {
	var m message
	if kind(body) != '{' {
		return m, beeos.Errorf(beeos.InvalidBody, "a JSON-RPC message is a JSON object")
	}
	var jsonrpc, method, id []byte
	for name, value := range httpd.Fields(body) {
		switch name {
		case "jsonrpc":
			jsonrpc = value
		case "id":
			id = value
		case "method":
			method = value
		case "params":
			m.params = value
		case "result":
			m.result = value
		case "error":
			m.fault = value
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

func (m *message) readID(id []byte) error {
	switch kind(id) {
	case 0: // none
	case '"', '0':
		m.id = id
	default:
		return beeos.Errorf(beeos.InvalidBody, `"id" must be a string or a number`)
	}
	return nil
}

func (m *message) readRequest(method []byte) error {
	name, ok := httpd.StringValue(method)
	if !ok || name == "" {
		return beeos.Errorf(beeos.InvalidBody, `"method" must be a string that names a method`)
	}
	m.method = name
	switch kind(m.params) {
	case 0, '{':
	case 'n':
		m.params = nil
	default:
		return beeos.Errorf(beeos.InvalidParam, `"params" must be an object`)
	}
	return nil
}

func (m *message) checkResponse() error {
	if m.id == nil || (m.result == nil) == (m.fault == nil) {
		return beeos.Errorf(beeos.InvalidBody, `a message has a "method", or an "id" with either a "result" or an "error"`)
	}
	if m.fault != nil && kind(m.fault) != '{' {
		return beeos.Errorf(beeos.InvalidBody, `"error" must be an object`)
	}
	return nil
}

// kind tells what a raw JSON value is by its first byte: '{', '[', '"', 't',
// 'f', 'n', '0' for every number, and 0 for no value.
func kind(raw []byte) byte {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return 0
	}
	if c := raw[0]; c != '-' && (c < '0' || c > '9') {
		return c
	}
	return '0'
}
