//go:build unix

package signin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/beeos/beeos/test/npm"
)

// installed are the clients that are not Go.
var installed = sync.OnceValues(func() (*npm.Tools, error) { return npm.Install(context.Background()) })

func tools(t *testing.T) *npm.Tools {
	t.Helper()
	tools, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

// TestTypeScript is the story of the official TypeScript clients, old and new.
func TestTypeScript(t *testing.T) {
	for _, tt := range []struct {
		name, library, client, document string
		union                           bool
	}{
		{"sdk 1.32 registers", "v1", "Typist", "", false},
		{"sdk 1.32 has a document", "v1", documentedName, documents.URL + "/v1/client.json", true},
		{"client 2.4 registers", "v2", "Typist", "", true},
		{"client 2.4 has a document", "v2", documentedName, documents.URL + "/v2/client.json", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			of := func(t *testing.T, _ *world) client { return newNodeClient(t, tt.library, "Typist", tt.document) }
			story(t, of, tt.client, tt.union)
		})
	}
}

// nodeClient is client.mjs.
type nodeClient struct {
	t     *testing.T
	in    io.Writer
	wants chan string
	said  chan line // closed at its end
}

// line is what it says.
type line struct {
	Open  string
	Done  bool
	Error string
	Text  string
	Tools []string
}

func newNodeClient(t *testing.T, library, name, document string) *nodeClient {
	t.Helper()
	tools := tools(t)
	ctx := context.WithoutCancel(t.Context()) // it ends with its input
	cmd := tools.Node(ctx, "client.mjs", library, filepath.Join(tools.Dir, "node_modules"), name, document)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &nodeClient{t: t, in: in, wants: make(chan string, 8), said: make(chan line, 8)}
	go c.read(out) // ends with the process, which the clean-up waits for
	t.Cleanup(func() {
		in.Close()
		for range c.said { // until it has ended
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the client ended with: %v", err)
		}
	})
	return c
}

func (c *nodeClient) read(out io.Reader) {
	defer close(c.said)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			c.t.Errorf("%q: %v", lines.Text(), err)
		}
		if l.Open != "" {
			c.wants <- l.Open
		} else {
			c.said <- l
		}
	}
}

// tell has a command done.
func (c *nodeClient) tell(ctx context.Context, command map[string]string) (line, error) {
	b, err := json.Marshal(command)
	if err != nil {
		return line{}, err
	}
	if _, err := c.in.Write(append(b, '\n')); err != nil {
		return line{}, err
	}
	select {
	case l, ok := <-c.said:
		switch {
		case !ok:
			return l, errors.New("the client is gone")
		case l.Error != "":
			return l, errors.New(l.Error)
		}
		return l, nil
	case <-ctx.Done():
		return line{}, ctx.Err()
	}
}

func (c *nodeClient) opened() <-chan string { return c.wants }

func (c *nodeClient) connect(ctx context.Context, endpoint string) error {
	_, err := c.tell(ctx, map[string]string{"do": "connect", "endpoint": endpoint})
	return err
}

func (c *nodeClient) tools(ctx context.Context) ([]string, error) {
	l, err := c.tell(ctx, map[string]string{"do": "tools"})
	return l.Tools, err
}

func (c *nodeClient) call(ctx context.Context, tool, message string) (string, error) {
	l, err := c.tell(ctx, map[string]string{"do": "call", "tool": tool, "message": message})
	return l.Text, err
}

func (c *nodeClient) token() string {
	l, err := c.tell(c.t.Context(), map[string]string{"do": "token"})
	if err != nil {
		c.t.Error(err)
	}
	return l.Text
}
