package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
	"github.com/beeos/beeos/internal/wire/outbound"
)

func (c *DoctorCmd) checkURLs(ctx context.Context) finding {
	if len(c.running) == 0 {
		return skipped("no server runs at the ports of these settings; start one with: beeos dev")
	}
	for _, s := range c.listSurfaces() {
		if !c.running[s[0]] || s[3] == "" {
			continue
		}
		if err := checkHealth(ctx, s[3]+"/readyz"); err != nil {
			return bad(fmt.Sprintf("%s does not answer as ready: %v", s[3], err), "check the public URL of "+s[0]+", the proxy in front of it and the server's log")
		}
	}
	return good("every public URL answers")
}

// checkHealth returns nil when something of ours answers at url and is well.
func checkHealth(ctx context.Context, url string) error {
	_, err := readHealth(ctx, url)
	return err
}

// readHealth is checkHealth, and returns what somebody should look at all the same.
func readHealth(ctx context.Context, url string) (warnings []string, err error) {
	resp, err := fetch(ctx, url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var state struct {
		Status, Check string
		Warnings      []string
	}
	if err := json.NewDecoder(resp.Body).Decode(&state); err != nil || state.Status == "" {
		return nil, errors.New("it is not BeeOS that answers")
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(strings.TrimSpace(state.Status + " " + state.Check)) // what fails, or that it stops
	}
	return state.Warnings, nil
}

func fetch(ctx context.Context, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return outbound.Client(outbound.Options{Trusted: true, Redirects: 10, MaxBody: 1 << 20}).Do(req)
}

// findServer returns the server to check end to end; nil when there is none to
// be found.
func (c *DoctorCmd) findServer() *client.Client {
	cl, err := (&remote.Server{URL: c.URL, Key: c.Key, Data: c.Data}).ProvideClient()
	if err != nil || c.URL == "" && !c.running["rest"] && checkHealth(context.Background(), cl.URL()+"/healthz") != nil {
		return nil
	}
	return cl
}

// checkClock compares clocks: what nodes sign and date is read by others, and
// signatures of agents live for a minute.
func (c *DoctorCmd) checkClock(ctx context.Context) finding {
	if ahead, err := app.CheckClock(ctx, c.Config); err == nil && ahead.Abs() > nodeSlack {
		return bad(fmt.Sprintf("this clock and the database's differ by %s", ahead.Abs().Round(time.Second)), "set both by NTP")
	}
	cl := c.findServer()
	if cl == nil {
		return skipped("no server to compare with")
	}
	resp, err := fetch(ctx, cl.URL()+"/healthz")
	if err != nil {
		return bad(err.Error(), "start the server, or correct BEEOS_URL")
	}
	resp.Body.Close()
	theirs, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return skipped("the server does not tell its time")
	}
	if off := time.Since(theirs).Abs(); off > clockSlack {
		return bad(fmt.Sprintf("this clock and the server's differ by %s", off.Round(time.Second)), "set both by NTP; signatures of agents fail otherwise")
	}
	return good("agrees with the server's")
}

// checkNodes looks for servers that use one database and do not hear each other.
func (c *DoctorCmd) checkNodes(ctx context.Context) finding {
	const fix = "give all of them one NATS_URL, or each a BEEOS_CLUSTER_ADDR"
	if cl := c.findServer(); cl != nil {
		if warnings, err := readHealth(ctx, cl.URL()+"/readyz"); err == nil && slices.Contains(warnings, "nodes") {
			return bad("other servers use the server's database and do not share its bus", fix)
		}
	}
	servers, err := app.CountServers(ctx, c.Config)
	switch {
	case err != nil:
		return skipped("the database does not tell which servers use it")
	case servers > 1 && c.NATSURL == "" && c.ClusterAddr == "":
		return bad(fmt.Sprintf("%d servers use this database, and by these settings this one shares a bus with none", servers), fix)
	case servers > 1:
		return good(fmt.Sprintf("%d servers use this database", servers))
	}
	return good("no other server uses this database")
}

// checkEcho sends a word through a surface to the demo agent.
func (c *DoctorCmd) checkEcho(ctx context.Context, ask func(*client.Client, *client.Agent) (string, error)) finding {
	cl := c.findServer()
	if cl == nil {
		return skipped("no server and key to try; set BEEOS_URL and BEEOS_KEY")
	}
	a, err := cl.Find(ctx, "echo")
	switch {
	case beeos.CodeOf(err) == beeos.AgentNotFound:
		return skipped("no agent called echo to talk to")
	case err != nil:
		return bad(terminal.Sentence(err), "")
	case !a.Online && c.URL != "": // a server that nobody promised an echo of
		return skipped("agent echo, which would be talked to, is offline")
	case !a.Online:
		return bad("agent echo is offline", "restart beeos dev")
	}
	start := time.Now()
	text, err := ask(cl, a)
	switch {
	case err != nil:
		return bad(terminal.Sentence(err), "see the server's log")
	case !strings.Contains(text, "doctor"):
		return bad(fmt.Sprintf("the echo came back as %q", terminal.Shorten(text, 60)), "see the server's log")
	}
	return good("echo came back in " + formatDuration(time.Since(start)))
}

func (c *DoctorCmd) checkREST(ctx context.Context) finding {
	return c.checkEcho(ctx, func(cl *client.Client, a *client.Agent) (string, error) {
		answer, err := cl.Invoke(ctx, a.ID, client.InvokeRequest{Message: "doctor"})
		if err != nil {
			return "", err
		}
		return answer.Text, nil
	})
}

func (c *DoctorCmd) checkMCP(ctx context.Context) finding {
	return c.checkEcho(ctx, func(cl *client.Client, a *client.Agent) (string, error) {
		result, err := cl.CallTool(ctx, a, a.ID, json.RawMessage(`{"message":"doctor"}`))
		if err != nil {
			return "", err
		}
		return result.Text(), nil
	})
}
