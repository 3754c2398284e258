package config

import (
	"fmt"
	"strings"
)

const docsHead = `# Configuration

Every setting is a flag of ` + "`beeos dev` and `beeos serve`" + ` and an environment variable; a flag wins. ` + "`beeos config`" + ` prints
what is in force and where each value came from. ` + "`DATABASE_URL`, `NATS_URL`, `OIDC_CLIENT_SECRET`, `S3_SECRET_KEY` and `LLM_API_KEY`" + `
hold secrets, so each can also be given as the path of a file, in ` + "`DATABASE_URL_FILE`" + ` and so on. An address is ` + "`host:port`" + `; without a host it
is every interface. ` + "`beeos dev`" + ` differs in two things: its addresses default to ` + "`127.0.0.1`" + `, and it lets addresses that callers
name lead to this machine. Where traces go is said with the variables of OpenTelemetry: [observability.md](../how-to/observability.md).

This page is generated from ` + "`internal/config`" + `: change the struct there, then run ` + "`go test ./internal/config -update`" + `.
`

// settingsPage returns the manual's page about settings.
func settingsPage() string {
	var b strings.Builder
	b.WriteString(docsHead)
	group := ""
	var c Config
	for _, f := range c.flags() {
		if f.Group.Title != group {
			group = f.Group.Title
			fmt.Fprintf(&b, "\n## %s\n\n| environment | flag | default | what it does |\n|---|---|---|---|\n", group)
		}
		value := f.Default
		if value == "" && strings.HasPrefix(f.PlaceHolder, "http") {
			value = f.PlaceHolder
		}
		if value != "" {
			value = "`" + value + "`"
		}
		fmt.Fprintf(&b, "| `%s` | `--%s` | %s | %s |\n", f.Envs[0], f.Name, value, f.Help)
	}
	return b.String()
}
