package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	shared := []string{"--database-url=postgres://u:hunter2@db/x", "--nats-url=nats://n1:4222, tls://n2"}
	tests := []struct {
		name string
		args []string
		want string // "" = fine
	}{
		{"defaults", nil, ""},
		{"new folder", []string{"--data=" + filepath.Join(dir, "a/b/c")}, ""},
		{"one node with an external NATS", []string{"--nats-url=nats://n1"}, ""},
		{"roles", append([]string{"--only=mcp,worker"}, shared...), ""},
		{"roles on a mesh", []string{"--only=mcp", shared[0], "--cluster-addr=:6222"}, ""},
		{"random ports", []string{"--mcp-addr=127.0.0.1:0", "--web-addr=127.0.0.1:0"}, ""},
		{"one port, two addresses", []string{"--mcp-addr=127.0.0.1:8000", "--web-addr=127.0.0.2:8000"}, ""},
		{"admin listener", []string{"--admin-addr=:9100"}, ""},
		{"no admin listener", []string{"--admin-addr=off"}, ""},
		{"surface on the default admin port", []string{"--mcp-addr=:8070"}, ""},
		{"a month", []string{"--retention=720h"}, ""},
		{"path in a URL", []string{"--mcp-public-url=https://example.com/mcp/"}, ""},

		{"no port", []string{"--mcp-addr=8094"}, `MCP_ADDR is "8094", which is not an address`},
		{"empty address", []string{"--web-addr="}, `WEB_ADDR is "", which is not an address`},
		{"port out of range", []string{"--a2a-addr=:70000"}, "A2A_ADDR"},
		{"named port", []string{"--a2a-addr=:http"}, "A2A_ADDR"},
		{"URL without scheme", []string{"--mcp-public-url=mcp.example.com"}, "MCP_PUBLIC_URL is not a URL"},
		{"URL of another scheme", []string{"--agent-gateway-public-url=ws://x"}, "AGENT_GATEWAY_URL is not a URL"},
		{"URL with a password", []string{"--openapi-public-url=https://u:hunter2@x"}, "OPENAPI_PUBLIC_URL is not a URL"},
		{"URL with a query", []string{"--web-public-url=https://x?a=hunter2"}, "WEB_PUBLIC_URL is not a URL"},
		{"login URL", []string{"--mcp-web-login-url=/login"}, "MCP_WEB_LOGIN_URL is not a URL"},
		{"one port twice", []string{"--mcp-addr=127.0.0.1:8092"}, "MCP_ADDR and A2A_ADDR both listen on port 8092"},
		{"SQLite as a URL", []string{"--database-url=sqlite:x?hunter2"}, "DATABASE_URL does not start with postgres://"},
		{"only a scheme", []string{"--database-url=postgres://"}, "DATABASE_URL"},
		{"NATS over http", []string{"--nats-url=http://u:hunter2@n"}, "NATS_URL does not start with nats://"},
		{"only, alone", []string{"--only=mcp"}, "--only splits BeeOS over several processes"},
		{"only, no database", []string{"--only=mcp", "--nats-url=nats://n"}, "set DATABASE_URL, and NATS_URL"},
		{"only, no NATS", []string{"--only=mcp", shared[0]}, "set DATABASE_URL, and NATS_URL"},
		{"only what exists", []string{"--only=mpc"}, "--only must be one of"},
		{"mesh without database", []string{"--cluster-addr=:6222"}, "BEEOS_CLUSTER_ADDR joins several nodes"},
		{"mesh and NATS", append([]string{"--cluster-addr=:6222"}, shared...), "NATS_URL and BEEOS_CLUSTER_ADDR are both set"},
		{"mesh address", []string{"--cluster-addr=6222", shared[0]}, "BEEOS_CLUSTER_ADDR is \"6222\""},
		{"data is a file", []string{"--data=" + file}, "is a file: choose a folder"},
		{"data below a file", []string{"--data=" + filepath.Join(file, "x")}, "BEEOS_DATA"},
		{"no data", []string{"--data="}, "BEEOS_DATA is empty"},
		{"no calls", []string{"--rate-limit=0"}, "BEEOS_RATE_LIMIT is 0"},
		{"no tokens", []string{"--answer-tokens=0"}, "BEEOS_ANSWER_TOKENS is 0"},
		{"no time", []string{"--call-timeout=5ms"}, "BEEOS_CALL_TIMEOUT is 5ms"},
		{"too much time", []string{"--call-timeout=90m"}, "BEEOS_CALL_TIMEOUT is 1h30m: choose between 1s and 1h"},
		{"hasty retention", []string{"--retention=1h"}, "BEEOS_RETENTION is 1h: keep finished work for at least 24h"},
		{"negative retention", []string{"--retention=-1h"}, "BEEOS_RETENTION"},
		{"admin listener without port", []string{"--admin-addr=localhost"}, "host:port"},
		{"admin listener on a public port", []string{"--admin-addr=127.0.0.1:8094"}, "MCP_ADDR and BEEOS_ADMIN_ADDR both listen"},
		{"origin with a path", []string{"--mcp-origins=https://x/"}, "MCP_ORIGINS"},
		{"origins", []string{"--mcp-origins=https://x,http://localhost:3000"}, ""},
		{"issuer alone", []string{"--oidc-issuer=https://id.example"}, "belong together"},
		{"secret alone", []string{"--oidc-client-secret=hunter2"}, "belong together"},
		{"readable issuer", []string{"--oidc-issuer=http://id.example", "--oidc-client-id=b"}, "not https"},
		{"issuer is no URL", []string{"--oidc-issuer=id.example", "--oidc-client-id=b"}, "OIDC_ISSUER"},
		{"issuer here", []string{"--oidc-issuer=http://localhost:8080/realms/x", "--oidc-client-id=b"}, ""},
		{"issuer", []string{"--oidc-issuer=https://id.example", "--oidc-client-id=b", "--oidc-client-secret=s"}, ""},
		{"mail", []string{"--smtp-url=smtp://u:hunter2@mail.example:587", "--smtp-from=BeeOS <bee@example.com>"}, ""},
		{"mail from nobody", []string{"--smtp-url=smtps://u:hunter2@mail.example"}, "belong together"},
		{"mail by http", []string{"--smtp-url=https://u:hunter2@mail.example", "--smtp-from=bee@example.com"}, "smtps://"},
		{"mail without a host", []string{"--smtp-url=smtp:hunter2", "--smtp-from=bee@example.com"}, "SMTP_URL"},
		{"password in the open", []string{"--smtp-url=smtp://u:hunter2@mail.example?tls=off", "--smtp-from=bee@example.com"}, "tls=off"},
		{"relay of one's own", []string{"--smtp-url=smtp://mail.internal:25?tls=off", "--smtp-from=bee@example.com"}, ""},
		{"mail from no address", []string{"--smtp-url=smtps://mail.example", "--smtp-from=bee"}, "SMTP_FROM"},
		{"bucket", []string{"--s3-endpoint=https://s3.example/b", "--s3-access-key=a", "--s3-secret-key=b"}, ""},
		{"bucket without keys", []string{"--s3-endpoint=https://s3.example/b"}, "belong together"},
		{"region alone", []string{"--s3-region=eu-central-1"}, "belong together"},
		{"endpoint without a bucket", []string{"--s3-endpoint=https://s3.example/", "--s3-access-key=a", "--s3-secret-key=b"}, "names no bucket"},
		{"endpoint is no URL", []string{"--s3-endpoint=s3.example/b", "--s3-access-key=a", "--s3-secret-key=b"}, "S3_ENDPOINT"},
		{"model without a name", []string{"--llm-api-key=k"}, "LLM_MODEL is empty"},
		{"model without a key", []string{"--llm-provider=anthropic", "--llm-model=m"}, "LLM_API_KEY"},
		{"model's address", []string{"--llm-url=localhost:11434", "--llm-model=m"}, "LLM_URL"},
		{"model here", []string{"--llm-url=http://localhost:11434/v1", "--llm-model=m"}, ""},
		{"scripted", []string{"--llm-provider=scripted"}, ""},
		{"durability", []string{"--durability=maybe"}, "--durability must be one of"},
		{"log level", []string{"--log-level=loud"}, "--log-level must be one of"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(t, nil, append([]string{"serve"}, tt.args...)...)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("err %v, want %q", err, tt.want)
			}
			if got := err.Error(); strings.Contains(got, "hunter2") || strings.Contains(got, "\n") {
				t.Errorf("err %q", got)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	tests := []struct {
		args []string
		want []string
	}{
		{[]string{"dev"}, nil},
		{[]string{"dev", "--mcp-addr=:8094"}, []string{"MCP_PUBLIC_URL"}},
		{[]string{"dev", "--mcp-addr=:8094", "--mcp-public-url=https://x"}, nil},
		{[]string{"serve"}, []string{"MCP_PUBLIC_URL", "A2A_PUBLIC_URL", "OPENAPI_PUBLIC_URL", "AGENT_GATEWAY_URL", "WEB_PUBLIC_URL"}},
		{[]string{"serve", "--only=web", "--database-url=postgres://d/x", "--nats-url=nats://n"}, []string{"WEB_PUBLIC_URL"}},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			c, err := parse(t, nil, tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			got := c.Warnings()
			if (len(got) == 1) != (len(tt.want) > 0) {
				t.Fatalf("%q", got)
			}
			for _, name := range tt.want {
				if !strings.Contains(got[0], name) {
					t.Errorf("%q does not name %s", got[0], name)
				}
			}
		})
	}
}
