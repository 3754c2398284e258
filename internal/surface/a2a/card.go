package a2a

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// Cards live as long in caches as a change of an agent may take to be seen.
const cardAge = "max-age=60"

// What an agent takes and gives that says nothing about it.
var (
	defaultInput  = []string{"text/plain", "text/*", "application/json", "application/pdf", "image/*", "audio/*", "video/*", "application/octet-stream"}
	defaultOutput = []string{"text/plain", "application/json"}
)

func isCardName(name string) bool {
	return name == "agent-card.json" || name == "agent.json" // the latter until 0.3
}

// inputModes are the media types that an agent takes.
func inputModes(a *beeos.Agent) []string { return modes(a, "inputModes", defaultInput) }

func modes(a *beeos.Agent, name string, otherwise []string) []string {
	var own []string
	p, err := readParams(a.Definition.Capabilities)
	if err == nil && json.Unmarshal(p[name], &own) == nil && len(own) > 0 {
		return own
	}
	return otherwise
}

// detailOf a card is how much of the agent it shows.
type detailOf int

const (
	redacted detailOf = iota // that there is one, and how to prove who you are
	public
	extended // also skills that are no tools
)

// cards keeps what was made: a card changes with its agent, and signing costs.
type cards struct {
	mu   sync.Mutex
	made map[cardKey]card
}

type cardKey struct {
	agent, fingerprint string
	detail             detailOf
	old                bool // in the shape of 0.3
}

// card is a card as it is served.
type card struct {
	body []byte
	etag string
}

const cardsKept = 4096

func (g *Gateway) card(a *beeos.Agent, d detailOf, old bool) (card, error) {
	key := cardKey{a.ID, a.Fingerprint, d, old}
	g.cards.mu.Lock()
	defer g.cards.mu.Unlock()
	if c, ok := g.cards.made[key]; ok {
		return c, nil
	}
	value := g.describe(a, d)
	signature, err := g.signer.sign(value)
	if err != nil {
		return card{}, err
	}
	value.Signatures = []a2a.AgentCardSignature{signature}
	var served any = value
	if key.old {
		served = oldCard(value)
	}
	raw, err := beeos.EncodeJSON(served)
	if err != nil {
		return card{}, err
	}
	sum := sha256.Sum256(raw)
	c := card{raw, `"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`}
	if len(g.cards.made) >= cardsKept {
		clear(g.cards.made)
	}
	g.cards.made[key] = c
	return c, nil
}

// describe makes the card of an agent. It has no securityRequirements: the
// protocol's schema and the Go SDK want them in two ways that exclude each
// other, and the schemes say as much.
func (g *Gateway) describe(a *beeos.Agent, d detailOf) *a2a.AgentCard {
	at := g.opt.PublicURL + "/" + a.ID
	c := &a2a.AgentCard{
		Name: "Private agent", Description: "Prove who you are to see what it does.", Version: "1",
		SupportedInterfaces: []*a2a.AgentInterface{
			{URL: at, ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: "1.0"},
			{URL: at, ProtocolBinding: a2a.TransportProtocolHTTPJSON, ProtocolVersion: "1.0"},
			{URL: at, ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: "0.3"},
		},
		Capabilities:      a2a.AgentCapabilities{Streaming: true, PushNotifications: true, ExtendedAgentCard: true},
		DefaultInputModes: defaultInput, DefaultOutputModes: defaultOutput, Skills: []a2a.AgentSkill{},
		SecuritySchemes: a2a.NamedSecuritySchemes{
			"bearer": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer", Description: "A key of this agent (bak_), or one of its owner's (oag_)."},
			"apiKey": a2a.APIKeySecurityScheme{Location: a2a.APIKeySecuritySchemeLocationHeader, Name: "X-Agent-API-Key", Description: "The same keys."},
		},
	}
	if d == redacted {
		return c
	}
	def := &a.Definition
	c.Name, c.Version = orElse(def.DisplayName, a.Name), orElse(def.Version, "1")
	c.Description = orElse(def.Description, "The agent "+c.Name+".")
	c.DefaultInputModes, c.DefaultOutputModes = inputModes(a), modes(a, "outputModes", defaultOutput)
	c.Skills = skills(a, d)
	return c
}

// skills are the agent's; one that declares none has itself.
func skills(a *beeos.Agent, d detailOf) []a2a.AgentSkill {
	all := []a2a.AgentSkill{}
	for _, s := range a.Definition.Skills {
		if d == extended || s.Exposed() {
			all = append(all, a2a.AgentSkill{
				ID: s.Name, Name: orElse(s.Title, s.Name), Description: orElse(s.Description, "The skill "+s.Name+"."), Tags: tags(s.Tags),
			})
		}
	}
	if len(all) == 0 {
		name := orElse(a.Definition.DisplayName, a.Name)
		all = append(all, a2a.AgentSkill{
			ID: a.Name, Name: name, Description: orElse(a.Definition.Description, "Talk to "+name+"."), Tags: tags(nil),
		})
	}
	return all
}

// tags: the protocol wants a list, and some clients something in it.
func tags(own []string) []string {
	if len(own) == 0 {
		return []string{"agent"}
	}
	return own
}

// serveCard shows an agent to whoever asks. Of a private one strangers learn
// how to prove who they are; others' keys find nothing.
func (g *Gateway) serveCard(w http.ResponseWriter, r *http.Request, agentID string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		notHere(w, r)
		return
	}
	d, a, err := g.cardFor(r, agentID)
	var c card
	if err == nil {
		c, err = g.card(a, d, oldCardWanted(r))
	}
	if err != nil {
		httpd.WriteError(w, r, err)
		return
	}
	writeCard(w, r, a, c)
}

// oldCardWanted: a client of 0.3 says so, or asks where cards were before 1.0.
func oldCardWanted(r *http.Request) bool {
	version, err := versionOf(r)
	return strings.HasPrefix(version, "0.3") && err == nil || strings.HasSuffix(r.URL.Path, "/agent.json")
}

// cardFor finds out how much of an agent the request may see.
func (g *Gateway) cardFor(r *http.Request, agentID string) (detailOf, *beeos.Agent, error) {
	a, err := g.agent(r.Context(), agentID)
	if err != nil || a.Visibility != beeos.VisiblePrivate {
		return public, a, err
	}
	c, err := g.opt.Auth.Authenticate(r, audience)
	switch {
	case beeos.CodeOf(err) == beeos.MissingToken && err != nil:
		return redacted, a, nil
	case err != nil:
		return redacted, nil, err
	case !c.MayReach(a):
		return redacted, nil, unknownAgent()
	}
	return public, a, nil
}

func writeCard(w http.ResponseWriter, r *http.Request, a *beeos.Agent, c card) {
	h := w.Header()
	h.Set("ETag", c.etag)
	h.Set("Last-Modified", a.UpdatedAt.UTC().Format(http.TimeFormat))
	h.Set("Vary", "Authorization, X-Agent-API-Key, A2A-Version")
	if h.Set("Cache-Control", "public, "+cardAge); a.Visibility == beeos.VisiblePrivate {
		h.Set("Cache-Control", "private, "+cardAge)
	}
	if slices.ContainsFunc(strings.Split(r.Header.Get("If-None-Match"), ","), func(tag string) bool {
		return strings.TrimPrefix(strings.TrimSpace(tag), "W/") == c.etag || strings.TrimSpace(tag) == "*"
	}) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(c.body)))
	if r.Method != http.MethodHead {
		w.Write(c.body) //nolint:errcheck // the client is gone; nobody is left to tell
	}
}

// Preview is an agent as peers see it.
type Preview struct {
	URL      string // of the card
	Whole    []byte // for those who may call the agent
	Redacted []byte // for everybody else; nil = they see all of it
}

// Preview returns what peers see of an agent, for its owner.
func (g *Gateway) Preview(a *beeos.Agent) (Preview, error) {
	p := Preview{URL: g.opt.PublicURL + "/" + a.ID + "/.well-known/agent-card.json"}
	c, err := g.card(a, public, false)
	if err != nil {
		return p, err
	}
	p.Whole = c.body
	if a.Visibility == beeos.VisiblePrivate {
		if c, err = g.card(a, redacted, false); err != nil {
			return p, err
		}
		p.Redacted = c.body
	}
	return p, nil
}

// extendedCard shows more to those who have proved who they are.
func (x *exchange) extendedCard(context.Context) (any, error) {
	c, err := x.g.card(x.agent, extended, x.dialect.old())
	if err != nil {
		return nil, err
	}
	return json.RawMessage(c.body), nil
}
