package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
	"github.com/beeos/beeos/internal/config"
)

const (
	checkWithin = 10 * time.Second
	littleDisk  = 1 << 30 // bytes below which a server soon stops
	clockSlack  = beeos.SignatureWindow / 2
	nodeSlack   = 2 * time.Second // of a server, which others compare their clocks with
)

// DoctorCmd looks for what is wrong.
type DoctorCmd struct {
	config.Config `embed:""`
	URL           string `env:"BEEOS_URL" placeholder:"URL" help:"REST surface of the server. Empty: the one that beeos dev runs here." group:"Server to check"`
	Key           string `env:"BEEOS_KEY" placeholder:"KEY" help:"API key. Empty: the one that beeos dev made." group:"Server to check"`
	JSON          bool   `help:"Print JSON."`

	running map[string]bool // surfaces that answer where they should
}

// finding is the outcome of one check. A check that had nothing to look at is
// neither good nor bad.
type finding struct {
	Check   string `json:"check"`
	OK      bool   `json:"ok"`
	Skipped bool   `json:"skipped,omitempty"`
	Detail  string `json:"detail"`
	Fix     string `json:"fix,omitempty"`
}

func good(detail string) finding     { return finding{OK: true, Detail: detail} }
func skipped(detail string) finding  { return finding{OK: true, Skipped: true, Detail: detail} }
func bad(detail, fix string) finding { return finding{Detail: detail, Fix: fix} }

// Run makes every check, whatever the others found.
func (c *DoctorCmd) Run(ctx context.Context, t *terminal.Terminal) error {
	if err := remote.CheckURL(c.URL); err != nil {
		return err
	}
	if c.DatabaseURL == "" {
		c.Data = remote.DataFolder(c.Data)
	}
	c.running = map[string]bool{}
	var found []finding
	failed := false
	for _, check := range []struct {
		name string
		do   func(context.Context) finding
	}{
		{"data", c.checkData},
		{"disk", c.checkDisk},
		{"database", c.checkDatabase},
		{"nats", c.checkNATS},
		{"mail", c.checkMail},
		{"ports", c.checkPorts},
		{"urls", c.checkURLs},
		{"clock", c.checkClock},
		{"nodes", c.checkNodes},
		{"rest", c.checkREST},
		{"mcp", c.checkMCP},
	} {
		within, cancel := context.WithTimeout(ctx, checkWithin)
		f := check.do(within)
		cancel()
		f.Check = check.name
		failed = failed || !f.OK
		found = append(found, f)
		if !c.JSON {
			printFinding(t, f)
		}
	}
	if c.JSON {
		if err := t.PrintJSON(found); err != nil {
			return err
		}
	}
	if failed {
		return terminal.ErrFindings
	}
	return nil
}

func printFinding(t *terminal.Terminal, f finding) {
	mark := terminal.Green.Render("ok  ")
	switch {
	case f.Skipped:
		mark = terminal.Yellow.Render("-   ")
	case !f.OK:
		mark = terminal.Red.Render("FAIL")
	}
	text := f.Detail
	if f.Fix != "" {
		text += " — " + f.Fix
	}
	lipgloss.Fprintln(t.Out, mark, fmt.Sprintf("%-9s", f.Check), terminal.Printable(text)) //nolint:errcheck // the exit code tells too
}

func (c *DoctorCmd) checkData(context.Context) finding {
	abs, err := filepath.Abs(c.Data)
	if err != nil {
		return bad(err.Error(), "set BEEOS_DATA to a folder")
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return good(abs + " will be made at the first start")
	case err != nil:
		return bad(err.Error(), "make it readable, or set BEEOS_DATA to another folder")
	case info.Mode().Perm()&0o077 != 0:
		return bad(abs+" can be read by others, and it holds keys", "chmod 700 "+abs)
	}
	return good(abs)
}

func (c *DoctorCmd) checkDisk(context.Context) finding {
	dir, err := filepath.Abs(c.Data)
	for err == nil && dir != filepath.Dir(dir) {
		if _, missing := os.Stat(dir); missing == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	free, err := freeDisk(dir)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return skipped("free space cannot be read on this system")
	case err != nil:
		return bad(err.Error(), "set BEEOS_DATA to another folder")
	case free < littleDisk:
		return bad(fmt.Sprintf("only %d MB free", free>>20), "make room, or set BEEOS_DATA to a folder on another disk")
	}
	return good(fmt.Sprintf("%d GB free", free>>30))
}

func (c *DoctorCmd) checkDatabase(ctx context.Context) finding {
	state, err := app.CheckDatabase(ctx, c.Config)
	if err != nil {
		return bad(cutAdvice(err), cmp.Or(readAdvice(err), "check DATABASE_URL and that the database runs"))
	}
	return good(state)
}

func (c *DoctorCmd) checkNATS(ctx context.Context) finding {
	state, err := app.CheckNATS(ctx, c.Config)
	if err != nil {
		return bad(cutAdvice(err), "check NATS_URL and that the NATS server runs")
	}
	return good(state)
}

// checkMail tries the mail server, with its password, and sends nothing.
func (c *DoctorCmd) checkMail(ctx context.Context) finding {
	if c.SMTP.URL == "" {
		return skipped("no mail is sent; set SMTP_URL and SMTP_FROM to let people be told by e-mail")
	}
	server, err := app.CheckMail(ctx, c.Config)
	if err != nil {
		return bad(fmt.Sprintf("%s: %v", server, err), "check SMTP_URL: address, port, user and password; smtp:// needs STARTTLS, smtps:// TLS from the start")
	}
	return good(server + " lets us in")
}

// cutAdvice returns an error without the advice in it.
func cutAdvice(err error) string {
	text, _, _ := strings.Cut(err.Error(), ";")
	return text
}

// readAdvice returns what an error says to do, without the reason behind it.
func readAdvice(err error) string {
	_, text, _ := strings.Cut(err.Error(), "; ")
	text, _, _ = strings.Cut(text, ": ")
	return text
}

// listSurfaces returns the parts that listen: name, setting, address, public
// URL.
func (c *DoctorCmd) listSurfaces() [][4]string {
	all := [][4]string{
		{"mcp", "MCP_ADDR", c.MCP.Addr, c.MCP.PublicURL},
		{"a2a", "A2A_ADDR", c.A2A.Addr, c.A2A.PublicURL},
		{"rest", "OPENAPI_ADDR", c.REST.Addr, c.REST.PublicURL},
		{"agents", "AGENT_GATEWAY_ADDR", c.Agents.Addr, c.Agents.PublicURL},
		{"web", "WEB_ADDR", c.Web.Addr, c.Web.PublicURL},
		{"admin", "BEEOS_ADMIN_ADDR", c.AdminAddr, config.URLFor(c.AdminAddr)},
	}
	if c.HasAddress() {
		all = append(all, [4]string{addressName, "BEEOS_ADDR", c.Addr[0], "https://" + c.Domain[0]})
	}
	return slices.DeleteFunc(all, func(s [4]string) bool { return s[2] == "" })
}

// addressName is the one that surfaces share.
const addressName = "address"

// listens reports whether a part would listen where its setting says. An admin
// listener that nobody gave an address goes elsewhere if it must.
func (c *DoctorCmd) listens(part string) bool {
	if part == "admin" {
		addr, spare := c.AdminListener()
		return addr != "" && (spare == "" || len(c.running) > 0 || slices.Equal(c.Only, []string{"worker"}))
	}
	return part == addressName || c.Runs(part)
}

// healthURL is where a part of the server on this machine says how it is. What
// speaks TLS is asked by its name.
func (c *DoctorCmd) healthURL(s [4]string) string {
	if s[0] == addressName && c.Cert != config.CertOff {
		return s[3] + "/healthz"
	}
	return config.URLFor(s[2]) + "/healthz"
}

// checkPorts tells ports that are free, or ours already, from those that
// another program has.
func (c *DoctorCmd) checkPorts(ctx context.Context) finding {
	free := 0
	for _, s := range c.listSurfaces() {
		if !c.listens(s[0]) {
			continue
		}
		if l, err := net.Listen("tcp", s[2]); err == nil {
			l.Close()
			free++
			continue
		}
		if checkHealth(ctx, c.healthURL(s)) != nil {
			if _, spare := c.AdminListener(); s[0] == "admin" && spare != "" {
				continue
			}
			return bad(s[2]+" is in use by another program", "stop it, or set "+s[1])
		}
		c.running[s[0]] = true
	}
	if len(c.running) == 0 {
		return good(fmt.Sprintf("%d free", free))
	}
	return good(fmt.Sprintf("%d in use by BeeOS, %d free", len(c.running), free))
}
