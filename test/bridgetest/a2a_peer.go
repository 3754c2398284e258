package bridgetest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// StreamingCard is the card of a peer that streams, with %s for its address.
const StreamingCard = `{"name":"odd","version":"1","capabilities":{"streaming":true},"skills":[{"id":"a b","name":"A"},{"id":"a b"},{"id":"c"}],"supportedInterfaces":[{"url":"%s/","protocolBinding":"GRPC","protocolVersion":"1.0"},{"url":"%s/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`

// WriteEvents writes a stream of results.
func WriteEvents(w http.ResponseWriter, all ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, one := range all {
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":%s}\n\n", one)
		w.(http.Flusher).Flush()
	}
}

// ArtifactChunk is a piece of an answer; more of it, or a new one.
func ArtifactChunk(text string, more bool) string {
	raw, _ := json.Marshal(text) //nolint:errcheck // a string
	return fmt.Sprintf(`{"artifactUpdate":{"taskId":"t","contextId":"c","append":%v,"artifact":{"artifactId":"a","parts":[{"text":%s}]}}}`, more, raw)
}

// StatusUpdate is a change of a task.
func StatusUpdate(state, text string) string {
	message := ""
	if text != "" {
		message = `,"message":{"messageId":"m` + text + `","role":"ROLE_AGENT","parts":[{"text":"` + text + `"}]}`
	}
	return `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_` + state + `"` + message + `}}}`
}
