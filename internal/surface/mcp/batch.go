package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const batchMax = 50 // messages

// answerBatch answers an array of messages with an array, one after the other
// and without events: it exists in one old revision only.
func (x *request) answerBatch(body []byte) {
	var list []json.RawMessage
	err := x.settleVersion(&wire.Message{})
	if err == nil && !x.Version.Batches() {
		err = beeos.Errorf(beeos.InvalidBody, "send one message at a time: this protocol version has no batches")
	}
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	if err == nil && (len(list) == 0 || len(list) > batchMax) {
		err = beeos.Errorf(beeos.InvalidBody, "a batch has 1 to %d messages", batchMax)
	}
	if err != nil {
		x.Out.SendError(x.HTTP, nil, x.Version, err)
		return
	}
	x.Out.AcceptsStream = false
	var answers []byte
	for _, one := range list {
		if answer := x.answerBatched(one); answer != nil {
			answers = append(append(answers, ','), answer...)
		}
	}
	if answers == nil {
		x.Out.SendAccepted()
		return
	}
	answers[0] = '['
	x.Out.SendAnswer(http.StatusOK, nil, answers, []byte{']'})
}

// answerBatched answers a message of a batch; nil for one that has no answer.
func (x *request) answerBatched(body []byte) []byte {
	m, err := wire.ParseMessage(bytes.TrimSpace(body))
	var result []byte
	if err == nil && m.Method == "initialize" {
		err = beeos.Errorf(beeos.InvalidBody, "initialize cannot be part of a batch")
	}
	if err == nil {
		result, err = x.handle(x.HTTP.Context(), &m)
	}
	switch {
	case err != nil && (m.ID != nil || m.Method == ""):
		f := wire.FaultOf(err)
		httpd.CountRefusal(x.HTTP, err)
		if f.IsInternal() {
			httpd.Report(x.HTTP, err)
		}
		return f.AppendResponse(nil, m.ID, x.Version)
	case result == nil:
		return nil
	}
	return append(append(append(wire.AppendResponseHead(nil, m.ID), `,"result":`...), result...), '}')
}
