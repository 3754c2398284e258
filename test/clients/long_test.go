//go:build unix

package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/beeos/beeos/test/npm"
)

// TestLongCall: official clients that wait 60 seconds, as they do by default,
// get the result of a call that takes longer, although the server that took it
// is killed.
func TestLongCall(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a minute")
	}
	tools, err := npm.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	world := start(t, build(t))
	ctx, cancel := context.WithTimeout(t.Context(), 2*talkWithin)
	defer cancel()
	var handedOver, over sync.WaitGroup
	killed := make(chan struct{})
	for _, c := range [][2]string{{"v1", "legacy"}, {"v2", "legacy"}, {"v2", "auto"}} {
		handedOver.Add(1)
		over.Go(func() {
			arrive := sync.OnceFunc(handedOver.Done)
			defer arrive()
			cmd := tools.Node(ctx, "long.mjs", c[0], c[1], filepath.Join(tools.Dir, "node_modules"), world.URL)
			cmd.Stderr = os.Stderr
			in, err1 := cmd.StdinPipe()
			out, err2 := cmd.StdoutPipe()
			if err1 != nil || err2 != nil || cmd.Start() != nil {
				t.Errorf("%v does not start: %v %v", c, err1, err2)
				return
			}
			seen := map[string]step{}
			lines := bufio.NewScanner(out)
			for lines.Scan() {
				var s step
				if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
					t.Errorf("%v: %q: %v", c, lines.Text(), err)
				}
				seen[s.Step] = s
				if s.Step == "handed over" {
					arrive()
					<-killed
					if _, err := io.WriteString(in, "go on\n"); err != nil {
						t.Error(err)
					}
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %v: %s", c, err, seen["failed"].Error)
			}
			if s := seen["list"]; !slices.Contains(s.Tools, "task_result") {
				t.Errorf("%v: the list has no task_result: %v", c, s.Tools)
			}
			if s := seen["handed over"]; s.Text == "" || s.Error != "" {
				t.Errorf("%v: handed over: %+v", c, s)
			}
			if s := seen["result"]; !strings.Contains(s.Text, "long") || s.Error != "" {
				t.Errorf("%v: result: %+v", c, s)
			}
		})
	}
	handedOver.Wait()
	world.Nodes[0].Kill()
	world.Balancer.Use(world.Key, world.Nodes[1])
	close(killed)
	over.Wait()
}
