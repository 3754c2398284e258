//go:build unix

// Package cluster runs BeeOS the way it runs for many: two servers on one
// PostgreSQL, joined by the mesh, an agent on one of them, and in front of
// their MCP listeners a plain round robin that sends one client's requests now
// here, now there. All of them are real processes (process.go), but for the
// balancer (balancer.go), which is the one place that knows the credential.
package cluster

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/test/pgtest"
	"github.com/beeos/beeos/test/ports"
)

// Options says which programs to run. Those that are missing are built from
// this tree.
type Options struct {
	Server string
	Agent  string
	Env    []string // more for the servers
	Bridge []string // instead of Agent: arguments of Server that make it connect one

	Command []string // instead of Agent: a command that is one
}

// Build builds the programs once for several clusters.
func Build(ctx context.Context, dir string) (o Options, err error) {
	if o.Server, err = build(ctx, dir, "github.com/beeos/beeos/cmd/beeos"); err != nil {
		return o, err
	}
	o.Agent, err = build(ctx, dir, "github.com/beeos/beeos/test/conformance/fixture")
	return o, err
}

// Cluster is what is running.
type Cluster struct {
	URL      string // the agent's MCP endpoint at the balancer, which adds the key
	Key      string
	AgentID  string
	Nodes    []*Node
	Agent    *Process
	Balancer *Balancer

	dir      string
	db       *pgtest.Server
	database string

	freePorts []func()
}

// Node is one server.
type Node struct {
	*Process
	MCP, Agents, Web string // host:port
}

const size = 2

// Start runs a cluster until Stop.
func Start(ctx context.Context, o Options) (c *Cluster, err error) {
	c = &Cluster{}
	defer func() {
		if err != nil {
			c.Stop()
		}
	}()
	if c.dir, err = os.MkdirTemp("", "beeos-cluster-"); err != nil {
		return c, err
	}
	if o.Server == "" || o.Agent == "" && o.Bridge == nil && o.Command == nil {
		built, err := Build(ctx, c.dir)
		if err != nil {
			return c, err
		}
		o.Server, o.Agent = cmp.Or(o.Server, built.Server), cmp.Or(o.Agent, built.Agent)
	}
	if c.db, err = pgtest.Start(); err != nil {
		return c, fmt.Errorf("start PostgreSQL: %w", err)
	}
	if c.database, err = c.db.Database(); err != nil {
		return c, err
	}
	if c.Balancer, err = newBalancer(); err != nil {
		return c, err
	}
	for i := range size {
		n, err := c.startNode(ctx, o, i)
		if err != nil {
			return c, err
		}
		c.Nodes = append(c.Nodes, n)
	}
	if err := c.issueKey(ctx); err != nil {
		return c, err
	}
	command := []string{o.Agent}
	switch {
	case o.Bridge != nil:
		command = append([]string{o.Server}, o.Bridge...)
	case o.Command != nil:
		command = o.Command
	}
	if err := c.startAgent(ctx, command); err != nil {
		return c, err
	}
	c.Balancer.Use(c.Key, c.Nodes...)
	c.URL = c.Balancer.URL + "/" + c.AgentID + "/mcp"
	return c, nil
}

// BuildOne builds a program, also one of a module that this one depends on.
func BuildOne(ctx context.Context, dir, pkg string) (string, error) { return build(ctx, dir, pkg) }

func build(ctx context.Context, dir, pkg string) (string, error) {
	path := filepath.Join(dir, filepath.Base(pkg))
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, pkg).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return path, nil
}

func (c *Cluster) startNode(ctx context.Context, o Options, i int) (*Node, error) {
	addrs, free, err := ports.Addrs(5)
	if err != nil {
		return nil, err
	}
	c.freePorts = append(c.freePorts, free)
	n := &Node{MCP: addrs[0], Agents: addrs[1], Web: addrs[4]}
	n.Process, err = start(fmt.Sprint("node ", i), append([]string{
		"DATABASE_URL=" + c.database, "BEEOS_DURABILITY=os", "BEEOS_RATE_LIMIT=1000000000", "BEEOS_CLUSTER_ADDR=127.0.0.1:0", "LOG_LEVEL=warn",
		fmt.Sprintf("BEEOS_DATA=%s/node%d", c.dir, i), "MCP_PUBLIC_URL=" + c.Balancer.URL,
		"MCP_ADDR=" + addrs[0], "AGENT_GATEWAY_ADDR=" + addrs[1], "OPENAPI_ADDR=" + addrs[2], "A2A_ADDR=" + addrs[3], "WEB_ADDR=" + addrs[4],
	}, o.Env...), o.Server, "serve")
	if err != nil {
		return nil, err
	}
	if err := n.awaitReady(ctx, "http://"+n.MCP+"/readyz"); err != nil {
		n.Stop()
		return nil, err
	}
	return n, nil
}

// Person is the e-mail address of whose everything is.
const Person = "tests@localhost"

func (c *Cluster) config() config.Config {
	return config.Config{Data: c.dir, DatabaseURL: c.database, Durability: "os", Web: config.Surface{PublicURL: "http://" + c.Nodes[0].Web}}
}

// ResetLink is the page on which Person chooses a password.
func (c *Cluster) ResetLink(ctx context.Context) (string, error) {
	d, err := app.OpenDirectory(ctx, c.config())
	if err != nil {
		return "", err
	}
	defer d.Close()
	return d.Reset(ctx, Person)
}

// issueKey makes a key that no quota stops.
func (c *Cluster) issueKey(ctx context.Context) (err error) {
	_, c.Key, err = app.IssueKey(ctx, c.config(), Person, beeos.Key{Name: "tests", RatePerMinute: 1_000_000_000})
	return err
}

// connectWithin is generous: the machine may be busy with other tests.
const connectWithin = time.Minute

var connected = regexp.MustCompile(`connected (?:as )?(agent_\w+)[;\n]`)

// startAgent connects the agent to the last node; it prints its id when it is
// there.
func (c *Cluster) startAgent(ctx context.Context, command []string) (err error) {
	home := filepath.Join(c.dir, "home") // its own: it must not find anybody's identity
	c.Agent, err = start("agent", []string{
		"AGENT_GATEWAY_URL=http://" + c.Nodes[size-1].Agents, "BEEOS_KEY=" + c.Key, "BEEOS_DATA=" + home,
		"XDG_CONFIG_HOME=" + home, "HOME=" + home,
	}, command[0], command[1:]...)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	return c.Agent.Await(ctx, func(log string) bool {
		id := connected.FindStringSubmatch(log)
		if id != nil {
			c.AgentID = id[1]
		}
		return id != nil
	})
}

// Stop ends everything and forgets it.
func (c *Cluster) Stop() {
	if c.Agent != nil {
		c.Agent.Stop()
	}
	if c.Balancer != nil {
		c.Balancer.close()
	}
	for _, n := range c.Nodes {
		n.Stop()
	}
	if c.db != nil {
		c.db.Stop()
	}
	for _, free := range c.freePorts {
		free()
	}
	os.RemoveAll(c.dir)
}

// Logs is what everybody had to say.
func (c *Cluster) Logs() string {
	var b strings.Builder
	for i, n := range c.Nodes {
		fmt.Fprintf(&b, "--- node %d\n%s", i, n.Text())
	}
	if c.Balancer != nil {
		fmt.Fprintf(&b, "--- balancer\n%s", c.Balancer.log.text())
	}
	if c.Agent != nil {
		fmt.Fprintf(&b, "--- agent\n%s", c.Agent.Text())
	}
	return b.String()
}
