package peer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

const (
	maxCard        = 1 << 20
	maxSkills      = 200
	maxDescription = 4000 // of a description: it goes into models' prompts
)

// Card is what an agent says about itself, in 1.0 or in 0.3.
type Card struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Version     string `json:"version"`
	Skills      []struct {
		ID          string   `json:"id"`
		Name        string   `json:"name"`
		Description string   `json:"description"`
		Tags        []string `json:"tags"`
	} `json:"skills"`
	Capabilities struct {
		Streaming bool `json:"streaming"`
	} `json:"capabilities"`
	Inputs     []string    `json:"defaultInputModes"`
	Outputs    []string    `json:"defaultOutputModes"`
	Interfaces []Interface `json:"supportedInterfaces"`

	URL       string      `json:"url"` // 0.3, down from here
	Transport string      `json:"preferredTransport"`
	Others    []Interface `json:"additionalInterfaces"`
}

// Interface is one way to talk to a peer.
type Interface struct {
	URL       string `json:"url"`
	Binding   string `json:"protocolBinding"`
	Version   string `json:"protocolVersion"`
	Tenant    string `json:"tenant"`
	Transport string `json:"transport"` // 0.3's binding
}

func (a Interface) isLegacy() bool { return strings.HasPrefix(a.Version, "0.") }

// rank says how well we speak it; 0 = not at all.
func (a Interface) rank() int {
	switch {
	case a.Binding == "JSONRPC" && strings.HasPrefix(a.Version, "1."):
		return 3
	case a.Binding == "HTTP+JSON" && strings.HasPrefix(a.Version, "1."):
		return 2
	case a.Binding == "JSONRPC" && strings.HasPrefix(a.Version, "0.3"):
		return 1
	}
	return 0
}

// interfaces are all ways that the card names, in the words of 1.0.
func (c *Card) interfaces() []Interface {
	all := c.Interfaces
	if c.URL != "" {
		all = append(all, Interface{URL: c.URL, Binding: cmp.Or(c.Transport, "JSONRPC"), Version: "0.3"})
	}
	for _, a := range c.Others {
		all = append(all, Interface{URL: a.URL, Binding: a.Transport, Version: "0.3"})
	}
	return all
}

// chooseInterface picks the way that is used. A card may name any address; the
// credentials, and a process inside somebody's network, go only where the
// operator said.
func (c *Card) chooseInterface(allowed []string) (best Interface, err error) {
	elsewhere := ""
	for _, a := range c.interfaces() {
		switch {
		case a.rank() <= best.rank():
		case !upstream.SameOrigin(a.URL, allowed):
			elsewhere = a.URL
		default:
			best = a
		}
	}
	switch {
	case best.rank() > 0:
		return best, nil
	case elsewhere != "":
		return best, fmt.Errorf("the card leads to another place, %s; if that is right, allow it with --a2a-origin", upstream.Shorten(upstream.Origin(elsewhere)))
	}
	return best, errors.New("the card names no way that we speak: JSON-RPC of 1.0 or 0.3, or HTTP+JSON of 1.0")
}

// cardPlaces are where the card may be: at the address itself, if that looks
// like a card's, else below it.
func cardPlaces(address string) []string {
	u, err := url.Parse(address)
	if err != nil || strings.HasSuffix(u.Path, ".json") {
		return []string{address}
	}
	below := strings.TrimRight(address, "/") + "/.well-known/"
	if u.RawQuery != "" {
		return []string{address}
	}
	return []string{below + "agent-card.json", below + "agent.json", address}
}

// CardReader knows where the card of a peer is.
type CardReader struct {
	URL     string // of the peer, or of its card
	Origins []string
	Header  http.Header
	HTTP    *http.Client
}

// Read finds the peer's card and how to talk to it.
func (r *CardReader) Read(ctx context.Context) (c Card, a Interface, err error) {
	ctx, cancel := context.WithTimeout(ctx, upstream.OpenWithin)
	defer cancel()
	for _, place := range cardPlaces(r.URL) {
		var found bool
		if found, err = r.fetchCard(ctx, place, &c); err != nil {
			return c, a, err
		}
		if found {
			a, err = c.chooseInterface(append([]string{r.URL}, r.Origins...))
			return c, a, err
		}
	}
	return c, a, errors.New("there is no agent card at that address")
}

func (r *CardReader) fetchCard(ctx context.Context, place string, c *Card) (found bool, err error) {
	req, err := upstream.NewRequest(ctx, http.MethodGet, place, nil, r.Header, "application/json")
	if err != nil {
		return false, err
	}
	resp, err := r.HTTP.Do(req)
	if err != nil {
		return false, fmt.Errorf("the card cannot be read: %w", upstream.WithoutAddress(err))
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed:
		return false, nil
	case resp.StatusCode >= 300:
		return false, upstream.StatusError(resp, upstream.SecretsOf(r.Header)...)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxCard+1))
	if err != nil {
		return false, fmt.Errorf("the card cannot be read: %w", err)
	}
	if len(text) > maxCard {
		return false, fmt.Errorf("the card is longer than %d bytes", maxCard)
	}
	if json.Unmarshal(text, c) != nil || c.Name == "" {
		return false, errors.New("what is at that address is no agent card")
	}
	return true, nil
}

var notInSkillNames = regexp.MustCompile(`[^A-Za-z0-9_./-]+`)

// messageSchema is what a skill takes: A2A's have no parameters.
var messageSchema = json.RawMessage(`{"type":"object","properties":{"message":{"type":"string","description":"What to ask, in words."}},"required":["message"]}`)

// Tools are the card's skills.
func (c *Card) Tools() (tools []agent.Tool, ids map[string]string) {
	ids = map[string]string{}
	for _, s := range c.Skills[:min(len(c.Skills), maxSkills)] {
		name := notInSkillNames.ReplaceAllString(cmp.Or(s.ID, s.Name), "-")
		name = name[:min(len(name), 64)]
		if name == "" || ids[name] != "" {
			continue
		}
		ids[name] = cmp.Or(s.ID, s.Name)
		tools = append(tools, agent.Tool{Name: name, Title: beeos.Shorten(s.Name, 200), Description: beeos.Shorten(s.Description, maxDescription), Tags: s.Tags, Schema: messageSchema})
	}
	return tools, ids
}

// Describe describes the agent by the card, where the operator did not.
func (c *Card) Describe(o *agent.Options, tools []agent.Tool) {
	o.DisplayName = cmp.Or(o.DisplayName, beeos.Shorten(c.Name, 200))
	o.Description = cmp.Or(o.Description, beeos.Shorten(c.Description, maxDescription))
	o.Version = cmp.Or(o.Version, beeos.Shorten(c.Version, 100))
	o.Tools = tools
	modes := map[string][]string{}
	for name, list := range map[string][]string{"inputModes": c.Inputs, "outputModes": c.Outputs} {
		list = slices.DeleteFunc(slices.Clone(list), func(mode string) bool { return !strings.Contains(mode, "/") })
		if len(list) > 0 {
			modes[name] = list
		}
	}
	if len(modes) > 0 && len(o.Capabilities) == 0 {
		o.Capabilities = upstream.EncodeJSON(modes)
	}
}
