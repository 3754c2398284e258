package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strings"

	"github.com/beeos/beeos"
)

// StreamA2A is Stream over the agent's A2A endpoint, in version 1.0.
func (c *Client) StreamA2A(ctx context.Context, a *Agent, r InvokeRequest) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var answer Answer
		resp, err := c.openA2A(ctx, a, r)
		streamAnswer(resp, err, yield, func(ev a2aEvent) (Event, bool, error) { return ev.event(&answer) })
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
	message := map[string]any{"role": "ROLE_USER", "messageId": cmp.Or(r.IdempotencyKey, beeos.NewID()), "parts": parts}
	if r.ContextID != "" {
		message["contextId"] = r.ContextID
	}
	call := map[string]any{"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": map[string]any{"message": message}}
	peer := &Client{HTTP: c.HTTP, base: a.A2AURL, key: c.key}
	req, err := peer.newRequest(ctx, http.MethodPost, "", "text/event-stream", call)
	if err != nil {
		return nil, err
	}
	req.Header.Set("A2A-Version", "1.0")
	return peer.sendRequest(req)
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
	ID    string `json:"artifactId"`
	Parts []struct {
		Text      string `json:"text"`
		URL       string `json:"url"`
		Filename  string `json:"filename"`
		MediaType string `json:"mediaType"`
	} `json:"parts"`
}

// a2aText is the artifact that holds the answer in words; the others are what
// comes besides.
const a2aText = "text"

// addText takes a piece of the text, or all of it so far, and returns what of it
// is new to whoever has read the rest.
func (a *Answer) addText(text string, piece bool) (news string) {
	if piece {
		a.Text += text
		return text
	}
	news, _ = strings.CutPrefix(text, a.Text)
	a.Text = text
	return news
}

// addFiles takes the files of an artifact, which comes whole.
func (a *Answer) addFiles(artifact *a2aArtifact) {
	files := a.Files()
	for _, p := range artifact.Parts {
		if p.URL != "" {
			files = append(files, beeos.FilePart{Type: beeos.PartFile, URL: p.URL, Name: p.Filename, MIMEType: p.MediaType})
		}
	}
	if len(files) > 0 {
		a.Parts, _ = json.Marshal(files) // of texts and numbers
	}
}

func (a *a2aArtifact) text() string {
	var b strings.Builder
	for _, p := range a.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// event puts what the event says into the answer, and returns what is new about
// it; last says that nothing follows. A task that waits for its caller is
// answered with what it waits for.
func (ev *a2aEvent) event(answer *Answer) (news Event, last bool, err error) {
	if ev.Error != nil {
		return news, true, ev.refusal()
	}
	if u := ev.Result.ArtifactUpdate; u != nil {
		if u.Artifact.ID == a2aText {
			news.Delta = answer.addText(u.Artifact.text(), u.Append)
		} else {
			answer.addFiles(&u.Artifact)
		}
		return news, false, nil
	}
	t := cmp.Or(ev.Result.Task, ev.Result.StatusUpdate)
	if t == nil {
		return news, false, nil
	}
	answer.ContextID = t.ContextID
	for i := range t.Artifacts {
		answer.Text += t.Artifacts[i].text()
		answer.addFiles(&t.Artifacts[i])
	}
	switch t.Status.State {
	case "TASK_STATE_COMPLETED":
		return Event{Done: answer}, true, nil
	case "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED":
		answer.Text, answer.IsError = t.Status.Message.text(), true
		return Event{Done: answer}, true, nil
	}
	return news, false, nil
}

// refusal is the error of the one answer that refuses a stream.
func (ev *a2aEvent) refusal() error {
	refused := &beeos.Error{Code: beeos.InvalidParam, Message: ev.Error.Message}
	if data := ev.Error.Data; len(data) > 0 && data[0].Metadata.Code != "" {
		refused.Code = data[0].Metadata.Code
	}
	return refused
}
