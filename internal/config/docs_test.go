package config

import (
	"fmt"
	"strings"
)

const docsHead = `# Configuration

Every setting is a flag of ` + "`beeos dev` and `beeos serve`" + `, an environment variable, and a line in a file; a flag counts more than
the environment, and that more than the file. ` + "`beeos config`" + ` prints what is in force and where each value came from. ` + "`DATABASE_URL`, `NATS_URL`, `OIDC_CLIENT_SECRET`, `S3_SECRET_KEY` and `LLM_API_KEY`" + `
hold secrets, so each can also be given as the path of a file, in ` + "`DATABASE_URL_FILE`" + ` and so on. An address is ` + "`host:port`" + `; without a host it
is every interface. ` + "`beeos dev`" + ` differs in two things: its addresses default to ` + "`127.0.0.1`" + `, and it lets addresses that callers
name lead to this machine. Where traces go is said with the variables of OpenTelemetry: [observability.md](../how-to/observability.md).

## In a file

The file is YAML, one setting per line, named as the flag is without its dashes:

` + "```yaml" + `
web-public-url: https://bee.example.com
only: [mcp, web]
call-timeout: 90s
database-url-file: /run/secrets/database-url
` + "```" + `

It is the one that ` + "`--config` or `BEEOS_CONFIG`" + ` names; else ` + "`beeos.yaml`" + ` in the data folder, else ` + "`/etc/beeos/beeos.yaml`" + `, which
` + "`beeos dev`" + ` leaves alone. A server does not start with a file that has a mistake. ` + "`beeos config check [FILE]`" + ` lists all mistakes
with their lines: unknown names with the nearest known one, wrong kinds of values, values out of range, settings that contradict
each other, together with the environment that it runs in. ` + "`beeos config schema`" + ` prints the JSON schema, with which editors complete:
write it beside the file and begin that with ` + "`# yaml-language-server: $schema=beeos.schema.json`" + `. Commands beside a server, such as
` + "`beeos users`" + `, ` + "`beeos backup`" + ` and ` + "`beeos doctor`" + `, read the same file.

This page is generated from ` + "`internal/config`" + `: change the struct there, then run ` + "`go test ./internal/config -update`" + `.
`

// settingsPage returns the manual's page about settings.
func settingsPage() string {
	var b strings.Builder
	b.WriteString(docsHead)
	group := ""
	var c Config
	names := c.fileNames()
	for _, f := range c.flags() {
		if f.Group.Title != group {
			group = f.Group.Title
			fmt.Fprintf(&b, "\n## %s\n\n| environment | flag | file | default | what it does |\n|---|---|---|---|---|\n", group)
		}
		value := f.Default
		if value == "" && strings.HasPrefix(f.PlaceHolder, "http") {
			value = f.PlaceHolder
		}
		if value != "" {
			value = "`" + value + "`"
		}
		name := "`" + f.Name + "`"
		if names[f.Name] == nil {
			name = ""
		}
		fmt.Fprintf(&b, "| `%s` | `--%s` | %s | %s | %s |\n", f.Envs[0], f.Name, name, value, f.Help)
	}
	return b.String()
}
