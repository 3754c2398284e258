package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
)

// ways are all the ways to wait for an agent's answer. Each returns nil for an
// answer, else what the caller was told.
var ways = map[string]func(c *caller, ctx context.Context, text string) error{
	"MCP":            (*caller).waitTool,
	"MCP with a key": (*caller).waitKeyed,
	"MCP session":    (*caller).waitSession,
	"REST":           (*caller).waitInvoke,
	"REST stream":    (*caller).waitStream,
	"REST wait":      (*caller).waitReply,
	"REST events":    (*caller).waitEvents,
}

func (c *caller) waitTool(ctx context.Context, text string) error {
	got, err := c.tool(ctx, text, "")
	return judge(text, got, err)
}

func (c *caller) waitKeyed(ctx context.Context, text string) error {
	got, err := c.tool(ctx, text, text)
	return judge(text, got, err)
}

func (c *caller) waitInvoke(ctx context.Context, text string) error {
	got, err := c.invoke(ctx, text)
	return judge(text, got, err)
}

// judge turns an answer to something else into an error.
func judge(text, got string, err error) error {
	if err == nil && got != echoed(text) {
		return fmt.Errorf("%q was answered %q", text, got)
	}
	return err
}

// waitSession calls a tool inside an MCP session, as the official clients do:
// the answer may be JSON or a stream.
func (c *caller) waitSession(ctx context.Context, text string) error {
	header := http.Header{"Accept": {"application/json, text/event-stream"}}
	endpoint := c.node.mcp + "/" + c.agent + "/mcp"
	resp, err := c.post(ctx, http.MethodPost, endpoint, []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"faults","version":"1"}}}`), header)
	if err != nil {
		return err
	}
	resp.Body.Close()
	header.Set("Mcp-Session-Id", resp.Header.Get("Mcp-Session-Id"))
	header.Set("Mcp-Protocol-Version", "2025-06-18")
	call := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":{"message":%q}}}`, c.agent, text)
	if resp, err = c.post(ctx, http.MethodPost, endpoint, call, header); err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return &cutOff{err}
	}
	var answer struct {
		Result *client.ToolResult
		Error  *struct {
			Message string
			Data    struct{ Code beeos.Code }
		}
	}
	if err := json.Unmarshal(lastEvent(resp, body), &answer); err != nil {
		return fmt.Errorf("%s answered %q, which is no JSON", resp.Status, body)
	}
	if answer.Error != nil {
		return &beeos.Error{Code: answer.Error.Data.Code, Message: answer.Error.Message}
	}
	return judge(text, answer.Result.Text(), nil)
}

// lastEvent returns the data of a stream's last event, or the whole body when
// it is no stream.
func lastEvent(resp *http.Response, body []byte) []byte {
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return body
	}
	last := ""
	for line := range strings.Lines(string(body)) {
		if data, ok := strings.CutPrefix(line, "data:"); ok {
			last = data
		}
	}
	return []byte(last)
}

// waitStream asks over REST and reads the answer as it comes.
func (c *caller) waitStream(ctx context.Context, text string) error {
	cl := client.New(c.node.rest, c.key)
	cl.HTTP = c.http
	for ev, err := range cl.Stream(ctx, c.agent, client.InvokeRequest{Message: text}) {
		if err != nil {
			return err
		}
		if ev.Done != nil {
			return judge(text, ev.Done.Text, nil)
		}
	}
	return errors.New("the stream ended with nothing")
}

// waitReply publishes a message and waits for the reply to it.
func (c *caller) waitReply(ctx context.Context, text string) error {
	channel, err := c.channel(ctx)
	if err != nil {
		return err
	}
	m, err := c.send(ctx, channel, text, "")
	if err != nil {
		return err
	}
	reply, err := c.wait(c.waiting(ctx), channel, m.ID)
	return judge(text, reply.Body, err)
}

// waitEvents publishes a message and follows the channel until the reply.
func (c *caller) waitEvents(ctx context.Context, text string) error {
	channel, err := c.channel(ctx)
	if err != nil {
		return err
	}
	m, err := c.send(ctx, channel, text, "")
	if err != nil {
		return err
	}
	resp, err := c.post(c.waiting(ctx), http.MethodGet, c.node.rest+"/channels/"+channel+"/events", nil, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK { // it stopped before the stream began
		var refusal struct{ Error beeos.Error }
		if err := json.NewDecoder(resp.Body).Decode(&refusal); err != nil {
			return fmt.Errorf("%s without a reason: %w", resp.Status, err)
		}
		return &refusal.Error
	}
	ended := false
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		ended = ended || lines.Text() == "event: end"
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			continue
		}
		var got beeos.Message
		if err := json.Unmarshal([]byte(data), &got); err != nil {
			return fmt.Errorf("the event %q is no JSON", data)
		}
		if got.Type.Terminal() && got.InReplyTo == m.ID {
			return judge(text, got.Body, nil)
		}
	}
	if err := lines.Err(); err != nil {
		return &cutOff{err}
	}
	if ended {
		return beeos.Errorf(beeos.AgentServiceUnavailable, "the stream was closed in order")
	}
	return errors.New("the stream broke off without a word")
}
