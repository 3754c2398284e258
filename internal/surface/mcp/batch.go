package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const batchMax = 50 // messages

// batch answers an array of messages with an array, one after the other and
// without events: it exists in one old revision only.
func (x *request) batch(body []byte) {
	var list []json.RawMessage
	err := x.settleVersion(&message{})
	if err == nil && !x.version.batches() {
		err = beeos.Errorf(beeos.InvalidBody, "send one message at a time: this protocol version has no batches")
	}
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	if err == nil && (len(list) == 0 || len(list) > batchMax) {
		err = beeos.Errorf(beeos.InvalidBody, "a batch has 1 to %d messages", batchMax)
	}
	if err != nil {
		x.out.sendError(x.r, nil, x.version, err)
		return
	}
	x.out.acceptsStream = false
	var answers []byte
	for _, one := range list {
		if answer := x.answerOne(one); answer != nil {
			answers = append(append(answers, ','), answer...)
		}
	}
	if answers == nil {
		x.out.sendAccepted()
		return
	}
	answers[0] = '['
	x.out.sendAnswer(http.StatusOK, nil, answers, []byte{']'})
}

// answerOne answers a message of a batch; nil for one that has no answer.
func (x *request) answerOne(body []byte) []byte {
	m, err := parseMessage(bytes.TrimSpace(body))
	var result []byte
	if err == nil && m.method == "initialize" {
		err = beeos.Errorf(beeos.InvalidBody, "initialize cannot be part of a batch")
	}
	if err == nil {
		result, err = x.handle(x.r.Context(), &m)
	}
	switch {
	case err != nil && (m.id != nil || m.method == ""):
		f := faultOf(err)
		if f.isInternal() {
			httpd.Report(x.r, err)
		}
		return f.appendResponse(nil, m.id, x.version)
	case result == nil:
		return nil
	}
	return append(append(append(appendResponseHead(nil, m.id), `,"result":`...), result...), '}')
}
