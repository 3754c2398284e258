package config

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "rewrite docs/reference/configuration.md")

// cli has the shape of the real one: two commands that share Config.
type cli struct {
	Dev   devCmd `cmd:"" set:"listen=127.0.0.1:"`
	Serve struct {
		Config Config `embed:""`
	} `cmd:""`
}

type devCmd struct {
	Config // embedded anonymously: kong must not care
	Port   int
}

// parse runs a command line in an empty environment plus env.
func parse(t *testing.T, env map[string]string, args ...string) (Config, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, f := range new(Config).flags() {
		for _, name := range f.Envs {
			unset(t, name)
			unset(t, name+"_FILE")
		}
	}
	for name, value := range env {
		t.Setenv(name, value)
	}
	var c cli
	k, err := kong.New(&c, kong.Name("beeos"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Parse(args); err != nil {
		return Config{}, err
	}
	if args[0] == "dev" {
		return c.Dev.Config, nil
	}
	return c.Serve.Config, nil
}

func unset(t *testing.T, name string) {
	t.Helper()
	t.Setenv(name, "") // remembers the old value
	os.Unsetenv(name)
}

func TestDefaults(t *testing.T) {
	surface := func(addr, url string) Surface { return Surface{Addr: addr, PublicURL: url} }
	serve := Config{
		Data: "./beeos-data", Durability: "fsync", Cert: "acme",
		MCP:       MCP{Surface: surface(":8094", "http://localhost:8094"), WebLoginURL: "http://localhost:3000"},
		A2A:       surface(":8092", "http://localhost:8092"),
		REST:      surface(":8095", "http://localhost:8095"),
		Agents:    surface(":8083", "http://localhost:8083"),
		Web:       surface(":3000", "http://localhost:3000"),
		RateLimit: 60, AnswerTokens: 10_000_000, CallTimeout: time.Minute, LogLevel: "info", LogFormat: "auto", AdminAddr: "127.0.0.1:8070",
	}
	dev := serve
	dev.Dev, dev.AllowPrivate, dev.LLM.Provider = true, true, "scripted"
	for _, s := range dev.surfaces() {
		s.Addr = "127.0.0.1" + s.Addr
	}
	for command, want := range map[string]Config{"serve": serve, "dev": dev} {
		t.Run(command, func(t *testing.T) {
			got, err := parse(t, nil, command)
			if err != nil {
				t.Fatal(err)
			}
			ignore := cmpopts.IgnoreUnexported(Config{})
			if diff := cmp.Diff(want, got, ignore); diff != "" {
				t.Errorf("parsed: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(want, Default(command == "dev"), ignore); diff != "" {
				t.Errorf("Default: -want +got\n%s", diff)
			}
			for _, v := range got.Effective() {
				if v.Origin != "default" {
					t.Errorf("%s comes from %s", v.Env, v.Origin)
				}
			}
		})
	}
}

// TestAdminListener: the processes of one Procfile do not fight for a port; an
// address that somebody chose is kept to.
func TestAdminListener(t *testing.T) {
	shared := map[string]string{"DATABASE_URL": "postgres://u@h/d", "NATS_URL": "nats://h:4222"}
	for only, want := range map[string]string{
		"": "127.0.0.1:8070", "agents": "127.0.0.1:8071", "mcp": "127.0.0.1:8072", "a2a": "127.0.0.1:8073",
		"rest": "127.0.0.1:8074", "web": "127.0.0.1:8075", "worker": "127.0.0.1:8076", "worker,mcp": "127.0.0.1:8072",
	} {
		c, err := parse(t, shared, "serve", "--only="+only)
		if err != nil {
			t.Fatal(err)
		}
		if addr, spare := c.AdminListener(); addr != want || spare != "127.0.0.1:0" {
			t.Errorf("--only=%s: %q, else %q", only, addr, spare)
		}
	}
	for chosen, want := range map[string]string{"127.0.0.1:8070": "127.0.0.1:8070", ":9100": ":9100", "off": ""} {
		c, err := parse(t, nil, "serve", "--admin-addr="+chosen)
		if err != nil {
			t.Fatal(err)
		}
		if addr, spare := c.AdminListener(); addr != want || spare != "" {
			t.Errorf("%s: %q, else %q", chosen, addr, spare)
		}
	}
}

func TestEmptyVariablesCountAsUnset(t *testing.T) {
	env := map[string]string{}
	for _, f := range new(Config).flags() {
		env[f.Envs[0]] = ""
	}
	got, err := parse(t, env, "dev")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(true), got, cmpopts.IgnoreUnexported(Config{})); diff != "" {
		t.Error(diff)
	}
}

func TestSettings(t *testing.T) {
	flags := new(Config).flags()
	// docs/adr/0013: what names an outside service counts for that service.
	own, outside := 0, map[string]int{"DATABASE": 0, "NATS": 0, "OIDC": 0, "S3": 0, "LLM": 0, "ACME": 0, "SMTP": 0}
	for _, f := range flags {
		service, _, _ := strings.Cut(f.Envs[0], "_")
		if _, ok := outside[service]; ok {
			outside[service]++
		} else {
			own++
		}
	}
	if own > 30 {
		t.Errorf("%d settings of our own; 30 is the most we ask people to know", own)
	}
	for service, n := range outside {
		if n == 0 || n > 4 {
			t.Errorf("%s_* has %d settings; an outside service has one to four", service, n)
		}
	}
	var names []string
	for _, f := range flags {
		names = append(names, f.Envs...)
		if f.Help == "" || f.Group == nil {
			t.Errorf("--%s has no help or no group", f.Name)
		}
	}
	want := []string{
		"BEEOS_CONFIG", "BEEOS_DATA", "DATABASE_URL", "BEEOS_DURABILITY", "BEEOS_RETENTION",
		"NATS_URL", "BEEOS_CLUSTER_ADDR", "BEEOS_ONLY",
		"BEEOS_DOMAIN", "BEEOS_ADDR", "BEEOS_CERT", "BEEOS_TRUSTED_PROXIES", "ACME_DIRECTORY", "ACME_EMAIL",
		"MCP_ADDR", "MCP_PUBLIC_URL", "MCP_WEB_LOGIN_URL", "MCP_STRICT", "MCP_ORIGINS", "A2A_ADDR", "A2A_PUBLIC_URL",
		"OPENAPI_ADDR", "OPENAPI_PUBLIC_URL", "AGENT_GATEWAY_ADDR", "AGENT_GATEWAY_URL", "WEB_ADDR", "WEB_PUBLIC_URL",
		"OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "SMTP_URL", "SMTP_FROM", "S3_ENDPOINT", "S3_ACCESS_KEY", "S3_SECRET_KEY", "S3_REGION",
		"LLM_PROVIDER", "LLM_URL", "LLM_MODEL", "LLM_API_KEY",
		"BEEOS_RATE_LIMIT", "BEEOS_ANSWER_TOKENS", "BEEOS_CALL_TIMEOUT", "BEEOS_ALLOW_PRIVATE", "LOG_LEVEL", "LOG_FORMAT", "BEEOS_ADMIN_ADDR",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, s := range new(Config).surfaces() { // the names that errors use
		if !slices.Contains(names, s.env) || !slices.Contains(names, s.urlEnv) {
			t.Errorf("%s is called %s, %s", s.name, s.env, s.urlEnv)
		}
	}
}

func TestOrigins(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "nats")
	if err := os.WriteFile(secret, []byte("nats://u:hunter2@n1:4222\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := parse(t, map[string]string{
		"MCP_ADDR": "127.0.0.1:9001", "WEB_PUBLIC_URL": "https://console.example.com/",
		"DATABASE_URL": "postgres://u:hunter2@db/x", "NATS_URL_FILE": secret, "LOG_LEVEL": "debug",
	}, "serve", "--log-level=warn", "--only=mcp,web")
	if err != nil {
		t.Fatal(err)
	}
	if c.NATSURL != "nats://u:hunter2@n1:4222" || c.MCP.PublicURL != "http://localhost:9001" || c.MCP.WebLoginURL != "https://console.example.com" {
		t.Errorf("%+v", c)
	}
	if !c.Runs("mcp") || c.Runs("a2a") {
		t.Error("--only is not followed")
	}
	got := map[string]Value{}
	for _, v := range c.Effective() {
		if strings.Contains(v.Value, "hunter2") {
			t.Errorf("%s shows its password", v.Env)
		}
		got[v.Env] = v
	}
	for _, want := range []Value{
		{"MCP_ADDR", "--mcp-addr", "127.0.0.1:9001", "env MCP_ADDR"},
		{"MCP_PUBLIC_URL", "--mcp-public-url", "http://localhost:9001", "default"},
		{"WEB_PUBLIC_URL", "--web-public-url", "https://console.example.com", "env WEB_PUBLIC_URL"},
		{"DATABASE_URL", "--database-url", "postgres://u:xxxxx@db/x", "env DATABASE_URL"},
		{"NATS_URL", "--nats-url", "nats://u:xxxxx@n1:4222", "env NATS_URL_FILE"},
		{"LOG_LEVEL", "--log-level", "warn", "flag --log-level"},
		{"BEEOS_ONLY", "--only", "mcp,web", "flag --only"},
		{"BEEOS_CALL_TIMEOUT", "--call-timeout", "1m", "default"},
		{"AGENT_GATEWAY_URL", "--agent-gateway-public-url", "http://localhost:8083", "default"},
	} {
		if diff := cmp.Diff(want, got[want.Env]); diff != "" {
			t.Errorf("%s: -want +got\n%s", want.Env, diff)
		}
	}
}

func TestSecretFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "url")
	if err := os.WriteFile(path, []byte("  postgres://from-file/x \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		env  map[string]string
		args []string
		want string
		err  string
	}{
		{"file", map[string]string{"DATABASE_URL_FILE": path}, nil, "postgres://from-file/x", ""},
		{"flag wins", map[string]string{"DATABASE_URL_FILE": path}, []string{"--database-url=postgres://flag/x"}, "postgres://flag/x", ""},
		{"counts for --only", map[string]string{"DATABASE_URL_FILE": path, "NATS_URL": "nats://n"}, []string{"--only=mcp"}, "postgres://from-file/x", ""},
		{"both", map[string]string{"DATABASE_URL_FILE": path, "DATABASE_URL": "postgres://env/x"}, nil, "", "DATABASE_URL and DATABASE_URL_FILE are both set"},
		{"absent", map[string]string{"DATABASE_URL_FILE": filepath.Join(dir, "none")}, nil, "", "DATABASE_URL_FILE names a file that cannot be read"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := parse(t, tt.env, append([]string{"serve"}, tt.args...)...)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("err %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || c.DatabaseURL != tt.want {
				t.Errorf("%q, %v", c.DatabaseURL, err)
			}
		})
	}
}

func TestMask(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "",
		"postgres://u@db/x":          "postgres://u@db/x",
		"postgres://u:pw@db/x?a=b":   "postgres://u:xxxxx@db/x?a=b",
		"postgres://db/x?PassWord=p": "postgres://db/x?PassWord=xxxxx",
		"postgres://u:p%zz@db/x":     "xxxxx",
		"host=db password=p":         "xxxxx",
		"nats://token@n1":            "nats://xxxxx@n1",
		"nats://a:b@n1,tls://n2":     "nats://a:xxxxx@n1,tls://n2",
	} {
		if got := mask("NATS_URL", in); got != want {
			t.Errorf("mask(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestUnknownEnv(t *testing.T) {
	for _, name := range []string{"MCP_ADR", "BEEOS_DAT", "A2A_PORT", "BEEOS_URL", "MCP_ADDR", "DATABASE_URL_FILE", "BEEOS_TEST_POSTGRES", "PATHX"} {
		t.Setenv(name, "x")
	}
	got := UnknownEnv("BEEOS_URL")
	if diff := cmp.Diff([]string{"A2A_PORT", "BEEOS_DAT", "MCP_ADR"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestURLFor(t *testing.T) {
	for addr, want := range map[string]string{
		":8094": "http://localhost:8094", "127.0.0.1:1": "http://localhost:1", "[::]:2": "http://localhost:2",
		"0.0.0.0:3": "http://localhost:3", "10.0.0.5:4": "http://10.0.0.5:4", "[fd00::1]:5": "http://[fd00::1]:5",
		"box:6": "http://box:6", ":0": "", "8094": "",
	} {
		if got := URLFor(addr); got != want {
			t.Errorf("URLFor(%q) = %q, want %q", addr, got, want)
		}
	}
}

func TestDocs(t *testing.T) {
	const path = "../../docs/reference/configuration.md"
	if *update {
		if err := os.WriteFile(path, []byte(settingsPage()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(page), settingsPage()); diff != "" {
		t.Errorf("docs/reference/configuration.md is stale: run go test ./internal/config -update\n%s", diff)
	}
}

func TestSecretsAreMaskedWhole(t *testing.T) {
	const secret = "nats://looks.like/a-url"
	c, err := parse(t, map[string]string{
		"OIDC_ISSUER": "https://id", "OIDC_CLIENT_ID": "b", "OIDC_CLIENT_SECRET": secret,
		"S3_ENDPOINT": "https://s3/b", "S3_ACCESS_KEY": "a", "S3_SECRET_KEY": secret,
	}, "serve")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range c.Effective() {
		if (v.Env == "OIDC_CLIENT_SECRET" || v.Env == "S3_SECRET_KEY") && v.Value != "xxxxx" || strings.Contains(v.Value, "a-url") {
			t.Errorf("%+v", v)
		}
	}
}

func TestAllowPrivate(t *testing.T) {
	for _, tt := range []struct {
		env  string
		args []string
		want bool
	}{
		{"", []string{"dev"}, true},
		{"", []string{"serve"}, false},
		{"true", []string{"serve"}, true},
		{"false", []string{"dev"}, false},
		{"", []string{"dev", "--no-allow-private"}, false},
	} {
		c, err := parse(t, map[string]string{"BEEOS_ALLOW_PRIVATE": tt.env}, tt.args...)
		if err != nil || c.AllowPrivate != tt.want {
			t.Errorf("%q %v: %v, %v", tt.env, tt.args, c.AllowPrivate, err)
		}
	}
}
