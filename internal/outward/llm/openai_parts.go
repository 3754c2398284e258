package llm

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	openai "github.com/sashabaranov/go-openai"
)

// filePart is the type of a part with a document. The client library has none, so
// it travels as a picture's part and OpenAIFiles puts it right.
const filePart openai.ChatMessagePartType = "file"

// SetOpenAIContent puts the text and the files of a message into that of the
// client library.
func SetOpenAIContent(to *openai.ChatCompletionMessage, m Message) {
	if len(m.Files) == 0 {
		to.Content = m.Text
		return
	}
	for _, f := range m.Files {
		part := openai.ChatMessagePart{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: f.dataURL()}}
		if !f.isPicture() {
			part.Type, part.ImageURL.Detail = filePart, openai.ImageURLDetail(f.Name)
		}
		to.MultiContent = append(to.MultiContent, part)
	}
	to.MultiContent = append(to.MultiContent, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: m.Text})
}

func (f File) dataURL() string {
	return "data:" + f.Type + ";base64," + base64.StdEncoding.EncodeToString(f.Data)
}

// OpenAIFiles sends the requests of the client library with documents as the
// service wants them.
type OpenAIFiles struct{ Next openai.HTTPDoer }

func (d OpenAIFiles) Do(req *http.Request) (*http.Response, error) {
	if req.Body == nil {
		return d.Next.Do(req)
	}
	body, err := io.ReadAll(req.Body)
	req.Body.Close()
	if err != nil {
		return nil, err
	}
	if bytes.Contains(body, []byte(`"type":"file"`)) {
		if body, err = documentParts(body); err != nil {
			return nil, err
		}
	}
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return d.Next.Do(req)
}

// documentParts rewrites the parts of a request that hold documents.
func documentParts(body []byte) ([]byte, error) {
	var request map[string]json.RawMessage
	var messages []map[string]json.RawMessage
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	if err := json.Unmarshal(request["messages"], &messages); err != nil {
		return nil, fmt.Errorf("read the messages: %w", err)
	}
	for _, m := range messages {
		var parts []openai.ChatMessagePart
		if json.Unmarshal(m["content"], &parts) != nil {
			continue // a text
		}
		list := make([]any, len(parts))
		for i, p := range parts {
			if list[i] = p; p.Type == filePart && p.ImageURL != nil {
				list[i] = map[string]any{"type": filePart, "file": map[string]string{"filename": string(p.ImageURL.Detail), "file_data": p.ImageURL.URL}}
			}
		}
		content, err := json.Marshal(list)
		if err != nil {
			return nil, fmt.Errorf("write the parts: %w", err)
		}
		m["content"] = content
	}
	raw, err := json.Marshal(messages)
	if err != nil {
		return nil, fmt.Errorf("write the messages: %w", err)
	}
	request["messages"] = raw
	return json.Marshal(request)
}
