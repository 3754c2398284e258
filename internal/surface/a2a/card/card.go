// Package card makes agent cards: what an agent shows of itself to the agents
// of other platforms, in the shapes of A2A 1.0 and 0.3, as much of it as the
// reader may see. Every card is signed with a key that all nodes share
// (sign.go), and kept until its agent changes.
package card

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/a2a/wire"
)

// Cards live as long in caches as a change of an agent may take to be seen.
const cardAge = "max-age=60"

const cardsKept = 4096

// Detail is how much of an agent a card shows.
type Detail int

// The details.
const (
	Redacted Detail = iota // that there is one, and how to prove who you are
	Public
	Extended // also skills that are no tools
)

// Cards keeps what was made: a card changes with its agent, and signing costs.
type Cards struct {
	publicURL string
	signer    *signer
	mu        sync.Mutex
	made      map[cardKey]Card
}

// Form is for which clients a card is written.
type Form int

// The forms.
const (
	FormBoth Form = iota // of 1.0 and of 0.3
	Form10
	Form03
)

type cardKey struct {
	agent, fingerprint string
	detail             Detail
	form               Form
}

// Card is a card as it is served.
type Card struct {
	Body []byte
	etag string
}

// New returns no cards yet. The seed is that of the signing key; publicURL is
// what the addresses in cards begin with.
func New(seed []byte, publicURL string) *Cards {
	return &Cards{publicURL: publicURL, signer: newSigner(seed, publicURL+"/.well-known/jwks.json"), made: map[cardKey]Card{}}
}

// Get returns the card of an agent.
func (c *Cards) Get(a *beeos.Agent, d Detail, form Form) (Card, error) {
	key := cardKey{a.ID, a.Fingerprint, d, form}
	c.mu.Lock()
	defer c.mu.Unlock()
	if made, ok := c.made[key]; ok {
		return made, nil
	}
	raw, err := c.write(c.describe(a, d), form)
	if err != nil {
		return Card{}, err
	}
	sum := sha256.Sum256(raw)
	made := Card{raw, `"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`}
	if len(c.made) >= cardsKept {
		clear(c.made)
	}
	c.made[key] = made
	return made, nil
}

// write writes a card that has no signature yet. What clients of 1.0 read of it
// is signed. So is all of it, for those who check what they got as it is, and
// because the address is in both generations' members.
func (c *Cards) write(value *a2a.AgentCard, form Form) ([]byte, error) {
	if form == Form03 {
		return beeos.EncodeJSON(wire.V03.Encode(value))
	}
	signature, err := c.signer.sign(value)
	if err != nil {
		return nil, err
	}
	signatures := []a2a.AgentCardSignature{signature}
	if form == Form10 {
		value.Signatures = signatures
		return beeos.EncodeJSON(value)
	}
	both, err := wire.CardForBoth(value)
	if err != nil {
		return nil, err
	}
	if signature, err = c.signer.sign(both); err != nil {
		return nil, err
	}
	both["signatures"] = append(signatures, signature)
	return beeos.EncodeJSON(both)
}

// describe makes the card of an agent. It has no securityRequirements: the
// protocol's schema and the Go SDK want them in two ways that exclude each
// other, and the schemes say as much.
func (c *Cards) describe(a *beeos.Agent, d Detail) *a2a.AgentCard {
	at := c.publicURL + "/" + a.ID
	card := &a2a.AgentCard{
		Name: "Private agent", Description: "Prove who you are to see what it does.", Version: "1",
		SupportedInterfaces: []*a2a.AgentInterface{
			{URL: at, ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: "1.0"},
			{URL: at, ProtocolBinding: a2a.TransportProtocolHTTPJSON, ProtocolVersion: "1.0"},
			{URL: at, ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: "0.3"},
			{URL: at, ProtocolBinding: a2a.TransportProtocolHTTPJSON, ProtocolVersion: "0.3"},
		},
		Capabilities:      a2a.AgentCapabilities{Streaming: true, PushNotifications: true, ExtendedAgentCard: true},
		DefaultInputModes: wire.DefaultInput, DefaultOutputModes: wire.DefaultOutput, Skills: []a2a.AgentSkill{secretSkill},
		SecuritySchemes: a2a.NamedSecuritySchemes{
			"bearer": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer", Description: "A key of this agent (bak_), or one of its owner's (oag_)."},
			"apiKey": a2a.APIKeySecurityScheme{Location: a2a.APIKeySecuritySchemeLocationHeader, Name: "X-Agent-API-Key", Description: "The same keys."},
		},
	}
	if d == Redacted {
		return card
	}
	def := &a.Definition
	card.Name, card.Version = cmp.Or(def.DisplayName, a.Name), cmp.Or(def.Version, "1")
	card.Description = cmp.Or(def.Description, "The agent "+card.Name+".")
	card.DefaultInputModes, card.DefaultOutputModes = wire.InputModes(a), wire.OutputModes(a)
	card.Skills = skillsOf(a, d)
	return card
}

// secretSkill stands for the skills of a private agent. The protocol wants one
// at least, and its SDKs leave an empty list out of what they verify.
var secretSkill = a2a.AgentSkill{
	ID: "private", Name: "Private agent", Description: "Prove who you are to see what it does.", Tags: []string{"agent"},
}

// skillsOf are the agent's; one that declares none has itself.
func skillsOf(a *beeos.Agent, d Detail) []a2a.AgentSkill {
	all := []a2a.AgentSkill{}
	for _, s := range a.Definition.Skills {
		if d == Extended || s.Exposed() {
			all = append(all, a2a.AgentSkill{
				ID: s.Name, Name: cmp.Or(s.Title, s.Name), Description: cmp.Or(s.Description, "The skill "+s.Name+"."), Tags: tagsOr(s.Tags),
			})
		}
	}
	if len(all) == 0 {
		name := cmp.Or(a.Definition.DisplayName, a.Name)
		all = append(all, a2a.AgentSkill{
			ID: a.Name, Name: name, Description: cmp.Or(a.Definition.Description, "Talk to "+name+"."), Tags: tagsOr(nil),
		})
	}
	return all
}

// tagsOr: the protocol wants a list, and some clients something in it. Empty
// tags would be left out of what clients verify.
func tagsOr(own []string) []string {
	if own = slices.DeleteFunc(slices.Clone(own), func(tag string) bool { return tag == "" }); len(own) == 0 {
		return []string{"agent"}
	}
	return own
}

// Write answers a request with the card, unless the client has it already.
func (c Card) Write(w http.ResponseWriter, r *http.Request, a *beeos.Agent) {
	h := w.Header()
	h.Set("ETag", c.etag)
	h.Set("Last-Modified", a.UpdatedAt.UTC().Format(http.TimeFormat))
	h.Set("Vary", "Authorization, X-Agent-API-Key, A2A-Version")
	if h.Set("Cache-Control", "public, "+cardAge); a.Visibility == beeos.VisiblePrivate {
		h.Set("Cache-Control", "private, "+cardAge)
	}
	h.Set("Content-Type", "application/json")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(c.Body)) // the tag decides: a card may change without its agent
}

// Preview is an agent as peers see it.
type Preview struct {
	URL      string // of the card
	Whole    []byte // for those who may call the agent
	Redacted []byte // for everybody else; nil = they see all of it
}

// Preview returns what peers see of an agent, for its owner.
func (c *Cards) Preview(a *beeos.Agent) (Preview, error) {
	whole, err := c.Get(a, Public, FormBoth)
	p := Preview{URL: c.publicURL + "/" + a.ID + "/.well-known/agent-card.json", Whole: whole.Body}
	if err == nil && a.Visibility == beeos.VisiblePrivate {
		var rest Card
		rest, err = c.Get(a, Redacted, FormBoth)
		p.Redacted = rest.Body
	}
	return p, err
}
