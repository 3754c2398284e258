package config

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

const (
	adminPort = 8070 // of a process that runs everything
	adminOff  = "off"
)

// Default returns the configuration of an empty environment and no flags.
func Default(dev bool) Config {
	c := Config{Dev: dev}
	if err := c.setDefaults(); err != nil {
		panic("config: " + err.Error()) // a tag of ours is wrong
	}
	c.fill()
	return c
}

func (c *Config) setDefaults() error {
	for _, f := range c.flags() {
		if !f.HasDefault {
			continue
		}
		if err := f.Parse(kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: f.Default}), f.Target); err != nil {
			return fmt.Errorf("default of %s: %w", f.Name, err)
		}
	}
	return nil
}

// flags returns the settings in the order of the struct, bound to c.
func (c *Config) flags() []*kong.Flag {
	vars := kong.Vars{}
	if c.Dev {
		vars["listen"] = "127.0.0.1:"
	}
	k, err := kong.New(c, kong.NoDefaultHelp(), vars)
	if err != nil {
		panic("config: " + err.Error()) // a tag of ours is wrong
	}
	return k.Model.Flags
}

// BeforeReset is called by kong before it reads the environment. An empty
// variable counts as none: that is how compose files spell "not set".
func (c *Config) BeforeReset() error {
	for _, f := range c.flags() {
		for _, name := range f.Envs {
			if os.Getenv(name) == "" {
				os.Unsetenv(name) //nolint:errcheck // the name is ours and valid
			}
		}
	}
	return nil
}

// BeforeApply is called by kong between environment and flags: the file counts less
// than the environment, and a secret's file counts as its environment variable.
func (c *Config) BeforeApply(ctx *kong.Context, vars kong.Vars) error {
	if err := c.loadFile(ctx, vars["listen"] != ""); err != nil {
		return err
	}
	return c.readSecretFiles()
}

func (c *Config) readSecretFiles() error {
	for name, target := range c.secrets() {
		path := os.Getenv(name + "_FILE")
		if path == "" {
			continue
		}
		if os.Getenv(name) != "" {
			return fmt.Errorf("%s and %s_FILE are both set: keep one of them", name, name)
		}
		secret, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("%s_FILE names a file that cannot be read (%w): correct the path or its permissions", name, err)
		}
		*target = strings.TrimSpace(string(secret))
	}
	return nil
}

// AfterApply is called by kong once every value is set.
func (c *Config) AfterApply(ctx *kong.Context, vars kong.Vars) error {
	c.Dev = vars["listen"] != ""
	c.noteOrigins(ctx.Path)
	c.fill()
	return c.Validate()
}

// noteOrigins remembers where each value came from; path is what was typed.
func (c *Config) noteOrigins(path []*kong.Path) {
	c.origins = map[string]string{}
	for _, f := range c.flags() {
		c.origins[f.Envs[0]] = cmp.Or(findOrigin(path, f), c.fromFile(f), "default")
	}
}

func findOrigin(path []*kong.Path, f *kong.Flag) string {
	for _, p := range path {
		if p.Flag != nil && p.Flag.Name == f.Name {
			return "flag --" + f.Name
		}
	}
	for _, name := range f.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return "env " + name
		}
		if os.Getenv(name+"_FILE") != "" {
			return "env " + name + "_FILE"
		}
	}
	return ""
}

// fill gives what nobody set the value that follows from the rest: public
// URLs from the addresses, the model that there is, where the admin listener
// is, and dev's trust in its own machine. A port of 0 leaves a URL empty: it is
// known after listening.
func (c *Config) fill() {
	c.fillAddress()
	for _, s := range c.surfaces() {
		if s.PublicURL == "" {
			s.PublicURL = URLFor(s.Addr)
		}
		s.PublicURL = strings.TrimRight(s.PublicURL, "/")
	}
	if c.MCP.WebLoginURL == "" {
		c.MCP.WebLoginURL = c.Web.PublicURL
	}
	if c.LLM.Provider == "" {
		switch {
		case c.LLM != (LLM{}):
			c.LLM.Provider = "openai"
		case c.Dev:
			c.LLM.Provider = "scripted"
		}
	}
	if c.AdminAddr == "" {
		c.AdminAddr, c.adminMoves = c.pickAdminAddr(), true
	}
	if o := c.origins["BEEOS_ALLOW_PRIVATE"]; c.Dev && (o == "" || o == "default") {
		c.AllowPrivate = true
	}
}

// pickAdminAddr is the admin listener's address where nobody chose one. The
// processes of one machine that share its work have a port each.
func (c *Config) pickAdminAddr() string {
	port := adminPort
	for i, part := range []string{"agents", "mcp", "a2a", "rest", "web", "worker"} {
		if len(c.Only) > 0 && c.Runs(part) {
			port += 1 + i
			break
		}
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// AdminListener is where the operator's pages are, "" for nowhere, and where
// they may be instead when that address is taken, "" for nowhere else: what an
// operator chose is where a monitor looks.
func (c *Config) AdminListener() (addr, spare string) {
	switch {
	case c.AdminAddr == adminOff:
		return "", ""
	case c.adminMoves:
		return c.AdminAddr, "127.0.0.1:0"
	}
	return c.AdminAddr, ""
}

// URLFor returns the URL by which this machine reaches a listen address, or
// "" when the port is not known yet.
func URLFor(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "0" || port == "" {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && (ip.IsUnspecified() || ip.IsLoopback())) {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// part is a surface with the names that people know it by.
type part struct {
	*Surface
	name, env, urlEnv string
}

func (c *Config) surfaces() []part {
	return []part{
		{&c.MCP.Surface, "mcp", "MCP_ADDR", "MCP_PUBLIC_URL"},
		{&c.A2A, "a2a", "A2A_ADDR", "A2A_PUBLIC_URL"},
		{&c.REST, "rest", "OPENAPI_ADDR", "OPENAPI_PUBLIC_URL"},
		{&c.Agents, "agents", "AGENT_GATEWAY_ADDR", "AGENT_GATEWAY_URL"},
		{&c.Web, "web", "WEB_ADDR", "WEB_PUBLIC_URL"},
	}
}
