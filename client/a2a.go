package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"

	"github.com/beeos/beeos"
)

// StreamA2A is Stream over the agent's A2A endpoint, in version 1.0.
func (c *Client) StreamA2A(ctx context.Context, a *Agent, r InvokeRequest) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		resp, err := c.openA2A(ctx, a, r)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer resp.Body.Close()
		answer := Answer{}
		for ev, err := range readEvents[a2aEvent](resp.Body) {
			if err == nil && ev.Error != nil {
				err = ev.refusal()
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			piece, done := ev.add(&answer)
			switch {
			case done:
				yield(Event{Done: &answer}, nil)
				return
			case piece != "" && !yield(Event{Delta: piece}, nil):
				return
			}
		}
		yield(Event{}, errors.New("the stream ended before the answer was complete"))
	}
}

// openA2A sends a SendStreamingMessage.
func (c *Client) openA2A(ctx context.Context, a *Agent, r InvokeRequest) (*http.Response, error) {
	if a.A2AURL == "" {
		return nil, fmt.Errorf("the server names no A2A endpoint for agent %q", a.Name)
	}
	parts := []map[string]any{{"text": r.Message}}
	for _, f := range r.Attachments {
		parts = append(parts, map[string]any{"url": "beeos:" + f.FileID, "filename": f.Filename, "mediaType": f.ContentType})
	}
	key := r.IdempotencyKey
	if key == "" {
		key = beeos.NewID()
	}
	message := map[string]any{"role": "ROLE_USER", "messageId": key, "parts": parts}
	if r.ContextID != "" {
		message["contextId"] = r.ContextID
	}
	call := map[string]any{"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": map[string]any{"message": message}}
	peer := &Client{HTTP: c.HTTP, base: a.A2AURL, key: c.key}
	req, err := peer.request(ctx, http.MethodPost, "", "text/event-stream", call)
	if err != nil {
		return nil, err
	}
	req.Header.Set("A2A-Version", "1.0")
	return peer.answer(req)
}

// a2aEvent is a stream's event as far as a reader of text needs it.
type a2aEvent struct {
	Result struct {
		Task           *a2aTask `json:"task"`
		StatusUpdate   *a2aTask `json:"statusUpdate"`
		ArtifactUpdate *struct {
			Append   bool        `json:"append"`
			Artifact a2aArtifact `json:"artifact"`
		} `json:"artifactUpdate"`
	} `json:"result"`
	Error *struct {
		Message string `json:"message"`
		Data    []struct {
			Metadata struct {
				Code beeos.Code `json:"code"`
			} `json:"metadata"`
		} `json:"data"`
	} `json:"error"`
}

type a2aTask struct {
	ContextID string        `json:"contextId"`
	Artifacts []a2aArtifact `json:"artifacts"`
	Status    struct {
		State   string      `json:"state"`
		Message a2aArtifact `json:"message"`
	} `json:"status"`
}

type a2aArtifact struct {
	Parts []struct {
		Text string `json:"text"`
	} `json:"parts"`
}

func (a *a2aArtifact) text() string {
	var b strings.Builder
	for _, p := range a.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// add puts an event into the answer, and returns the text that is new and
// whether that was all. A task that waits for its caller is answered with what
// it waits for.
func (ev *a2aEvent) add(to *Answer) (piece string, done bool) {
	res := &ev.Result
	if u := res.ArtifactUpdate; u != nil {
		if piece = u.Artifact.text(); !u.Append {
			to.Text = ""
		}
		to.Text += piece
		return piece, false
	}
	t := res.Task
	if t == nil {
		t = res.StatusUpdate
	}
	if t == nil {
		return "", false
	}
	to.ContextID = t.ContextID
	for i := range t.Artifacts {
		to.Text += t.Artifacts[i].text()
	}
	switch t.Status.State {
	case "TASK_STATE_COMPLETED":
		return "", true
	case "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED":
		to.Text, to.IsError = t.Status.Message.text(), true
		return "", true
	}
	return "", false
}

// refusal is the error of the one answer that refuses a stream.
func (ev *a2aEvent) refusal() error {
	refused := &beeos.Error{Code: beeos.InvalidParam, Message: ev.Error.Message}
	if data := ev.Error.Data; len(data) > 0 && data[0].Metadata.Code != "" {
		refused.Code = data[0].Metadata.Code
	}
	return refused
}
