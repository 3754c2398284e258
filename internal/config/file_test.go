package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFile: a file counts more than defaults and less than the environment, and that
// less than flags; each value says where it came from.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	secret := write(t, filepath.Join(dir, "secret"), "postgres://u:hunter2@db/x\n")
	path := write(t, filepath.Join(dir, "settings.yaml"), `# a comment
mcp-addr: 127.0.0.1:9001
a2a-addr: 127.0.0.1:9002
log-level: debug
log-format: json
only: [mcp, web]
call-timeout: 90s
rate-limit: 7
allow-private: true
web-public-url:
nats-url: nats://u:hunter2@n1:4222
database-url-file: `+secret+`
`)
	c, err := parse(t, map[string]string{"A2A_ADDR": "127.0.0.1:9003", "LOG_LEVEL": "info"}, "serve", "--config="+path, "--log-level=warn")
	if err != nil {
		t.Fatal(err)
	}
	if c.MCP.Addr != "127.0.0.1:9001" || c.MCP.PublicURL != "http://localhost:9001" || c.A2A.Addr != "127.0.0.1:9003" || c.LogLevel != "warn" || c.LogFormat != "json" ||
		c.CallTimeout != 90*time.Second || c.RateLimit != 7 || !c.AllowPrivate || c.Runs("a2a") || !c.Runs("web") || c.DatabaseURL != "postgres://u:hunter2@db/x" {
		t.Errorf("%+v", c)
	}
	got := map[string]string{}
	for _, v := range c.Effective() {
		got[v.Env] = v.Origin
		if strings.Contains(v.Value, "hunter2") {
			t.Errorf("%s shows its password", v.Env)
		}
	}
	for env, want := range map[string]string{
		"MCP_ADDR": "file " + path + ":2", "A2A_ADDR": "env A2A_ADDR", "LOG_LEVEL": "flag --log-level", "WEB_PUBLIC_URL": "default",
		"DATABASE_URL": "file " + path + ":12", "BEEOS_CONFIG": "flag --config", "BEEOS_DATA": "default",
	} {
		if got[env] != want {
			t.Errorf("%s comes from %q, want %q", env, got[env], want)
		}
	}
}

// TestFileIsFound in the data folder, wherever that is said to be.
func TestFileIsFound(t *testing.T) {
	data := t.TempDir()
	path := write(t, filepath.Join(data, "beeos.yaml"), "rate-limit: 5\n")
	for name, args := range map[string][]string{"flag": {"serve", "--data=" + data}, "env": {"serve"}, "dev": {"dev", "--data=" + data}} {
		env := map[string]string{}
		if name == "env" {
			env["BEEOS_DATA"] = data
		}
		c, err := parse(t, env, args...)
		if err != nil || c.RateLimit != 5 {
			t.Errorf("%s: %d, %v", name, c.RateLimit, err)
		}
	}
	write(t, path, "data: /elsewhere\n")
	if _, err := parse(t, nil, "serve", "--data="+data); err == nil || !strings.Contains(err.Error(), path+":1: a file in the data folder") {
		t.Errorf("a file that leads away from itself: %v", err)
	}
	if _, err := parse(t, nil, "serve", "--config="+filepath.Join(data, "none.yaml")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestMistakesInFiles: the server does not start, and the check finds all at once.
// TestOfServer: commands beside a server know what it was told in its file.
func TestOfServer(t *testing.T) {
	for _, name := range []string{"BEEOS_CONFIG", "BEEOS_DATA", "BEEOS_DOMAIN", "DATABASE_URL", "DATABASE_URL_FILE", "WEB_ADDR", "WEB_PUBLIC_URL"} {
		t.Setenv(name, "")
	}
	data, other := t.TempDir(), t.TempDir()
	system := filepath.Join(t.TempDir(), "server.yaml")
	write(t, filepath.Join(data, "beeos.yaml"), "domain: bee.example.com\ndatabase-url: postgres://db/one\n")
	write(t, filepath.Join(other, "beeos.yaml"), "domian: bee.example.com\n")
	write(t, system, "data: "+data+"\n")
	for _, tt := range []struct{ data, url, wantData, wantURL, wantWeb string }{
		{data, "", data, "postgres://db/one", "https://bee.example.com"},
		{data, "postgres://db/two", data, "postgres://db/two", "https://bee.example.com"},
		{"./beeos-data", "", "./beeos-data", "", "http://localhost:3000"},
	} {
		c, err := OfServer(tt.data, tt.url, true)
		if err != nil || c.Data != tt.wantData || c.DatabaseURL != tt.wantURL || c.Web.PublicURL != tt.wantWeb {
			t.Errorf("%q %q: %q %q %q, %v", tt.data, tt.url, c.Data, c.DatabaseURL, c.Web.PublicURL, err)
		}
	}
	t.Setenv("BEEOS_CONFIG", system)
	for named, want := range map[string]string{"./beeos-data": data, other: other} {
		if c, err := OfServer(named, "", false); err != nil || c.Data != want {
			t.Errorf("%s: %q, %v", named, c.Data, err)
		}
	}
	t.Setenv("BEEOS_CONFIG", "")
	if _, err := OfServer(other, "", false); err == nil || !strings.Contains(err.Error(), "did you mean domain") {
		t.Error(err)
	}
}

func TestMistakesInFiles(t *testing.T) {
	for text, want := range map[string]string{
		"mpc-addr: :1":                             "FILE:1: mpc-addr is no setting; did you mean mcp-addr;",
		"\nzzzzzzzzz: 1":                           "FILE:2: zzzzzzzzz is no setting; see",
		"BEEOS_DATA: x":                            "FILE:1: BEEOS_DATA is no setting",
		"config: x":                                "FILE:1: config cannot be in the file",
		"rate-limit: many":                         "FILE:1: rate-limit must be a whole number",
		"rate-limit: 0":                            "FILE:1: rate-limit is 0: allow at least 1",
		"mcp-strict: \"yes\"":                      "FILE:1: mcp-strict must be true or false",
		"call-timeout: 90":                         "FILE:1: call-timeout must be a duration",
		"call-timeout: soon":                       "FILE:1: call-timeout must be a duration",
		"llm-model: 4":                             "FILE:1: llm-model must be text",
		"log-level: loud":                          "FILE:1: log-level is \"loud\", which is none of debug, info, warn, error",
		"only: [mcp, a3a]":                         "FILE:1: only is \"a3a\", which is none of",
		"only: {mcp: true}":                        "FILE:1: only must be a list",
		"log-level: info\nlog-level: warn":         "FILE:2: log-level is set twice, first in line 1",
		"nats-url: nats://n\nnats-url-file: /none": "FILE:2: nats-url-file is set twice",
		"llm-api-key-file: /none":                  "FILE:1: llm-api-key-file names a file that cannot be read",
		"- a":                                      "FILE:1: settings are written as NAME: VALUE",
		"a: [":                                     "this is not YAML",
		"mcp-addr: nonsense":                       "FILE:1: mcp-addr is \"nonsense\", which is not an address",
		"retention: 1h\nrate-limit: 0":             "FILE:1: retention is 1h",
		"log-level: warn\nmcp-addr: :1\na2a-addr: :1": "FILE:2: mcp-addr and a2a-addr both listen on port 1",
		"only: [web]":                                    "--only splits BeeOS",
		"database-url: mysql://hunter2@h/d":              "FILE:1: database-url does not start with postgres://",
		"# nothing but a comment\n":                      "",
		"mcp-addr: 127.0.0.1:9001\nllm-provider: \"\"\n": "",
	} {
		path := write(t, filepath.Join(t.TempDir(), "beeos.yaml"), text)
		_, err := parse(t, nil, "serve", "--config="+path)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), strings.ReplaceAll(want, "FILE", path)) || err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		problems, err := CheckFile(path)
		if err != nil || (len(problems) == 0) != (want == "") {
			t.Errorf("%q: %v, %v", text, problems, err)
		}
	}
	path := write(t, filepath.Join(t.TempDir(), "beeos.yaml"), "rat-limit: 1\nrate-limit: 0\nmcp-addr: x\nlog-level: loud\n")
	problems, err := CheckFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	for _, p := range problems {
		lines = append(lines, p.Line)
	}
	if diff := cmp.Diff([]int{1, 4, 3, 2}, lines); diff != "" {
		t.Errorf("%+v\n%s", problems, diff)
	}
}

// TestSchema: all settings are in it, each with its kind; nothing else is allowed.
func TestSchema(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		AdditionalProperties bool
		Properties           map[string]struct {
			Type, Description string
			Enum              []string
		}
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	names := new(Config).fileNames()
	if len(s.Properties) != len(names) || s.AdditionalProperties || s.Properties["config"].Type != "" {
		t.Errorf("%d of %d settings", len(s.Properties), len(names))
	}
	for name, want := range map[string]string{"rate-limit": "integer", "allow-private": "boolean", "call-timeout": "string", "llm-api-key-file": "string", "only": ""} {
		if p := s.Properties[name]; p.Type != want || p.Description == "" {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if got := s.Properties["log-level"].Enum; len(got) != 4 {
		t.Errorf("log-level: %q", got)
	}
}
