// Command client is what the official conformance suite runs as the client
// under test: a small program on top of the skill client of built-in agents.
// The suite names the scenario in the environment and the server as the last
// argument. main.go picks what to do, identity.go who to be.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos/internal/outward/oauthclient"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/wire/outbound"
	"github.com/beeos/beeos/test/issuer"
)

// situation is what the suite tells about a scenario.
type situation struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	PrivateKey   string `json:"private_key_pem"`
	IDToken      string `json:"idp_id_token"`
	IDPClient    string `json:"idp_client_id"`
	IDPTokenURL  string `json:"idp_token_endpoint"`
	WorkloadJWT  string `json:"valid_jwt"`
	ToolCalls    []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`
}

const within = 25 * time.Second

func main() {
	log.SetFlags(0)
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if err := run(ctx, os.Getenv("MCP_CONFORMANCE_SCENARIO"), os.Args[len(os.Args)-1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, scenario, server string) error {
	var s situation
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			return fmt.Errorf("read the situation: %w", err)
		}
	}
	who, err := identity(scenario, s)
	if err != nil {
		return err
	}
	transport, err := oauthclient.New(oauthclient.Options{
		URL: server, Client: who, Vault: &issuer.Vault{}, Consent: consent, Base: outbound.Transport(outbound.Options{AllowPrivate: true}), Plain: true,
	})
	if err != nil {
		return err
	}
	c := skill.New(skill.Options{Server: skill.Server{Name: "suite", URL: server}, HTTP: transport, Elicit: answers[scenario]})
	defer c.Close() //nolint:errcheck // the suite looks at what came before
	return act(ctx, c, scenario, s)
}

// act does what the scenario wants to watch.
func act(ctx context.Context, c *skill.Client, scenario string, s situation) error {
	session, err := c.Session(ctx)
	if err != nil {
		return err
	}
	tools, err := c.Tools(ctx, true)
	switch {
	case scenario == "request-metadata":
		return nil
	case err != nil:
		return err
	case scenario == "http-standard-headers":
		readAll(ctx, session)
	case scenario == "json-schema-2020-12-preservation":
		return echoSchema(ctx, session)
	case scenario == "json-schema-ref-no-deref", scenario == "initialize":
		return nil
	}
	for _, call := range s.ToolCalls {
		if _, err := c.Call(ctx, call.Name, call.Arguments); err != nil {
			log.Print(err)
		}
	}
	if len(s.ToolCalls) > 0 {
		return nil
	}
	for _, t := range tools {
		if _, err := c.Call(ctx, t.Name, arguments(t.Name)); err != nil && strings.HasPrefix(scenario, "auth/") {
			return err
		} else if err != nil {
			log.Print(err)
		}
	}
	return nil
}

// arguments are what the suite's tools take.
func arguments(tool string) json.RawMessage {
	if tool == "add_numbers" {
		return json.RawMessage(`{"a":5,"b":3}`)
	}
	if strings.Contains(tool, "header") || strings.HasPrefix(tool, "valid") {
		return json.RawMessage(`{"region":"us-west1"}`)
	}
	return json.RawMessage(`{}`)
}

// readAll uses what else a server may have, so that every method is seen.
func readAll(ctx context.Context, session *mcp.ClientSession) {
	if list, err := session.ListResources(ctx, nil); err == nil && len(list.Resources) > 0 {
		_, _ = session.ReadResource(ctx, &mcp.ReadResourceParams{URI: list.Resources[0].URI}) // the suite judges the request
	}
	if list, err := session.ListPrompts(ctx, nil); err == nil && len(list.Prompts) > 0 {
		_, _ = session.GetPrompt(ctx, &mcp.GetPromptParams{Name: list.Prompts[0].Name, Arguments: map[string]string{}})
	}
}

// echoSchema sends a tool's schema back as it was received.
func echoSchema(ctx context.Context, session *mcp.ClientSession) error {
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		if t.Name == "json_schema_2020_12_tool" {
			_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "json_schema_echo", Arguments: map[string]any{"schema": t.InputSchema}})
			return err
		}
	}
	return fmt.Errorf("the tool with the schema is not there")
}

// answers are how a person would answer, where a scenario asks one.
var answers = map[string]func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error){
	"elicitation-sep1034-client-defaults": accept(map[string]any{}),
	"sep-2322-client-request-state":       accept(map[string]any{"confirmed": true}),
}

func accept(content map[string]any) func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: content}, nil
	}
}
