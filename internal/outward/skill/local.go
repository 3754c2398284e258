package skill

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos"
)

// commandEnv is what a local command gets to know: enough to find programs and
// its home, and nothing of the server's settings, which hold secrets.
func commandEnv() (env []string) {
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		switch name {
		case "PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "SHELL", "LOGNAME", "SYSTEMROOT", "TEMP", "TMP", "APPDATA", "LOCALAPPDATA", "USERPROFILE":
			env = append(env, pair)
		}
		if strings.HasPrefix(name, "LC_") {
			env = append(env, pair)
		}
	}
	return env
}

// DemoName is the name of the command that stands for the demo's server.
const DemoName = "demo"

type numbers struct {
	Numbers []float64 `json:"numbers" jsonschema:"what to add up"`
}

// Local connects to a skill server inside this process.
type Local func() (mcp.Transport, error)

// Demo is the skill server of `beeos dev`: it adds numbers and knows the time.
func Demo(ctx context.Context, now func() time.Time) Local {
	return func() (mcp.Transport, error) { return startDemo(ctx, now) }
}

func startDemo(ctx context.Context, now func() time.Time) (mcp.Transport, error) {
	s := mcp.NewServer(&mcp.Implementation{Name: "demo", Version: beeos.Version}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "Add numbers up."}, func(_ context.Context, _ *mcp.CallToolRequest, in numbers) (*mcp.CallToolResult, any, error) {
		sum := 0.0
		for _, n := range in.Numbers {
			sum += n
		}
		return textResult(fmt.Sprint(sum)), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "now", Description: "Tell the time."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return textResult(now().UTC().Format("15:04 on Monday, 2 January 2006") + " (UTC)"), nil, nil
	})
	mine, theirs := mcp.NewInMemoryTransports()
	if _, err := s.Connect(ctx, theirs, nil); err != nil {
		return nil, fmt.Errorf("start the demo's skill server: %w", err)
	}
	return mine, nil
}

func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
