//go:build unix

package signin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMCPRemote is the story of mcp-remote, which makes a program on standard
// input and output of our endpoint, for clients that know no other.
func TestMCPRemote(t *testing.T) {
	t.Run("registers", func(t *testing.T) {
		story(t, func(t *testing.T, _ *world) client { return newRemote(t) }, "MCP CLI Proxy", false)
	})
	t.Run("has a document", func(t *testing.T) {
		of := func(t *testing.T, _ *world) client {
			return newRemote(t, "--client-metadata-url", documents.URL+"/remote/client.json")
		}
		story(t, of, documentedName, true)
	})
}

// remote is mcp-remote.
type remote struct {
	t    *testing.T
	args []string
	desk *opener
	home string
	in   io.Writer
	said chan message // closed at its end
	log  strings.Builder
	next int
}

// message is JSON-RPC, as far as it matters here.
type message struct {
	ID     int
	Method string
	Result json.RawMessage
	Error  json.RawMessage
}

func newRemote(t *testing.T, args ...string) *remote {
	t.Helper()
	return &remote{t: t, args: args, desk: newOpener(t), said: make(chan message, 8)}
}

func (c *remote) opened() <-chan string { return c.desk.addresses }

// connect starts it, and says hello through it.
func (c *remote) connect(ctx context.Context, endpoint string) error {
	tools, err := installed()
	if err != nil {
		return err
	}
	args := append([]string{tools.Module("mcp-remote/dist/proxy.js"), endpoint, "--allow-http", "--transport", "http-only"}, c.args...)
	cmd := tools.Node(context.WithoutCancel(ctx), args...)
	cmd.Env = c.desk.environ(c.t, cmd)
	for _, v := range cmd.Env {
		if dir, ok := strings.CutPrefix(v, "MCP_REMOTE_CONFIG_DIR="); ok {
			c.home = dir
		}
	}
	cmd.Stderr = &c.log
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.in = in
	go c.read(out) // ends with the process, which the clean-up waits for
	c.t.Cleanup(func() {
		in.Close()
		_ = cmd.Process.Kill() // it may wait for a person
		for range c.said {     // until it has ended
		}
		_ = cmd.Wait() // it was killed
		if c.t.Failed() {
			c.t.Log(c.log.String())
		}
	})
	_, err = c.request(ctx, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"desktop","version":"1"}}`)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return err
}

func (c *remote) read(out io.Reader) {
	defer close(c.said)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			c.t.Errorf("%q: %v", lines.Text(), err)
		}
		if m.Method == "" {
			c.said <- m
		}
	}
}

func (c *remote) request(ctx context.Context, method, params string) (json.RawMessage, error) {
	c.next++
	if _, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.next, method, params); err != nil {
		return nil, err
	}
	for {
		select {
		case m, ok := <-c.said:
			switch {
			case !ok:
				return nil, errors.New("mcp-remote is gone")
			case m.ID != c.next: // of one that was given up
			case m.Error != nil:
				return nil, errors.New(string(m.Error))
			default:
				return m.Result, nil
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *remote) tools(ctx context.Context) (names []string, err error) {
	result, err := c.request(ctx, "tools/list", `{}`)
	if err != nil {
		return nil, err
	}
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(result, &list); err != nil {
		return nil, err
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (c *remote) call(ctx context.Context, tool, text string) (string, error) {
	result, err := c.request(ctx, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"message":%q}}`, tool, text))
	if err != nil {
		return "", err
	}
	var got struct {
		IsError bool
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(result, &got); err != nil || got.IsError || len(got.Content) != 1 {
		return "", fmt.Errorf("%s, %w", result, err)
	}
	return got.Content[0].Text, nil
}

// token reads the one that it keeps in a file.
func (c *remote) token() string {
	var found string
	err := filepath.WalkDir(c.home, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_tokens.json") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var kept struct {
			Access string `json:"access_token"`
		}
		err = json.Unmarshal(b, &kept)
		found = kept.Access
		return err
	})
	if err != nil || found == "" {
		c.t.Errorf("no token in its folder: %v", err)
	}
	return found
}
