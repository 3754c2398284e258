package connect

import (
	_ "embed" // of the script
	"encoding/json"
	"net/url"
	"strings"
)

// command is something to copy and run.
type command struct {
	Title string // empty = it goes without saying
	Code  string
	Label string // what is copied
}

// access is what an agent needs to come in for the first time.
type access struct{ gateway, token string }

// variables sets both for one command.
func (a access) variables() string {
	return "AGENT_GATEWAY_URL=" + quoteWord(a.gateway) + " \\\nBEEOS_JOIN_TOKEN=" + quoteWord(a.token) + " \\\n  "
}

// bridgeCommands connect a program that is no agent by itself.
func bridgeCommands(d *data, a access) []command {
	line := a.variables() + "beeos connect" + formatFlag("name", d.Name)
	if d.Description != "" {
		line += formatFlag("description", d.Description)
	}
	for _, f := range d.Fields {
		switch {
		case f.Value != "" && f.Switch:
			line += " --" + f.Flag
		case f.Value != "":
			line += formatFlag(f.Flag, f.Value)
		}
	}
	return []command{{Code: line, Label: "the command that connects it"}}
}

//go:embed protocol.sh
var protocolScript string

// protocolCommands are a whole agent that has nothing but HTTP.
func protocolCommands(d *data, a access) []command {
	name := encode(d.Name)
	return []command{{
		Title: "Save this as agent.sh and run it with bash; it needs curl, jq and openssl 3:", Label: "the whole agent",
		Code: strings.NewReplacer(
			"GATEWAY", quoteWord(a.gateway),
			"JOIN", quoteWord(`{"token":`+encode(a.token)+`,"name":`+name+`,"public_key":"`)+`"$public"`+quoteWord(`"}`),
			"SYNC", quoteWord(`{"agents":[{"name":`+name+`,"description":"Says what it was told, by curl."}]}`),
			"NAME", url.QueryEscape(d.Name),
		).Replace(protocolScript),
	}}
}

// encode writes a text as JSON.
func encode(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic("connect: encode a text: " + err.Error()) // texts always encode
	}
	return string(b)
}

// formatFlag writes a flag with its value. One that begins with a dash would be
// taken for another flag.
func formatFlag(name, value string) string {
	if strings.HasPrefix(value, "-") {
		return " --" + name + "=" + quoteWord(value)
	}
	return " --" + name + " " + quoteWord(value)
}

// quoteWord writes a word as a shell takes it, in quotes where it needs them.
func quoteWord(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+,="
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
