// Package skill is the client of skill servers: MCP servers whose tools a
// built-in agent offers to its model. A Server is how its owner describes one:
// an address, or a local command that the admin allowed. A Client (client.go)
// holds one session with it, whichever era of the protocol it speaks, lists
// its tools (tools.go) and calls them (call.go), each of them once, so it looks
// how far a call got that has no answer (call_outcome.go).
//
// Tools are pinned as they were when their server first showed any (pin.go): one
// that it adds later or describes in another way is held back until a person has
// accepted that. known.go is what people are shown of all that, with nothing
// hidden in it. local.go is what needs no network: commands, and the demo.
// Servers behind OAuth are internal/outward/oauthclient's business: its transport is
// where the requests of a Client go through.
package skill

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/url"
	"regexp"
	"slices"

	"github.com/beeos/beeos"
)

// Server is a skill server as its owner describes it. It holds no secrets.
type Server struct {
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"` // of the skill, for callers
	URL         string            `json:"url,omitempty"`
	Command     string            `json:"command,omitempty"` // the name of a command that the admin allowed
	Agent       string            `json:"agent,omitempty"`   // another agent of the owner's, by its name or id, instead of a server
	AutoApprove bool              `json:"autoApprove,omitempty"`
	Policies    map[string]Policy `json:"tools,omitempty"` // those that are not as AutoApprove says
	Offer       []string          `json:"offer,omitempty"` // tools that callers may call themselves; AllTools = all
	Auth        Auth              `json:"auth,omitzero"`
}

// Policy is what an owner says about one tool.
type Policy struct {
	AutoApprove bool `json:"autoApprove"`
}

// Auto reports whether the owner need not be asked about a tool. The owner's
// rules for the agent come before that.
func (s Server) Auto(tool string) bool {
	if p, ok := s.Policies[tool]; ok {
		return p.AutoApprove
	}
	return s.AutoApprove
}

// AllTools in an offer stands for every tool of the server.
const AllTools = "*"

// Offers reports whether callers may call a tool themselves, past the model.
func (s Server) Offers(tool string) bool {
	return slices.Contains(s.Offer, tool) || slices.Contains(s.Offer, AllTools)
}

// Auth says how the owner is known to the authorization server in front of the
// skill server. The zero value finds out: registration, and the owner's consent.
type Auth struct {
	Grant    string   `json:"grant,omitempty"` // authorization_code, client_credentials, jwt_bearer, id_jag
	ClientID string   `json:"clientId,omitempty"`
	Issuer   string   `json:"issuer,omitempty"` // the only one that may see the client's secret; required with one
	Scopes   []string `json:"scopes,omitempty"`

	// Assertion names a file that the admin allowed, with a JWT of the workload
	// (jwt_bearer) or of the person (id_jag).
	Assertion string `json:"assertion,omitempty"`
	IDP       string `json:"idp,omitempty"` // id_jag: the token endpoint that exchanges it
	IDPClient string `json:"idpClientId,omitempty"`
}

// Secrets are what a skill keeps beside its Server, sealed.
type Secrets struct {
	ClientSecret string `json:"clientSecret,omitempty"`
	PrivateKey   string `json:"privateKey,omitempty"` // PEM, for private_key_jwt
}

const (
	mostPolicies = 128
	longestTool  = 128
)

var nameForm = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$`)

// Check says what is wrong with a description. commands are those that the
// admin allowed; a request can name one of them, never bring one.
func (s Server) Check(commands map[string][]string) error {
	if !nameForm.MatchString(s.Name) {
		return beeos.Errorf(beeos.InvalidParam, "the skill name %q is not usable; write 1 to 32 small letters, digits and dashes", s.Name)
	}
	given := 0
	for _, where := range []string{s.URL, s.Command, s.Agent} {
		if where != "" {
			given++
		}
	}
	if given != 1 {
		return beeos.Errorf(beeos.InvalidParam, "skill %s needs a url, the name of an allowed command, or an agent of yours, and only one of them", s.Name)
	}
	if s.Agent != "" && len(s.Offer) > 0 {
		return beeos.Errorf(beeos.InvalidParam, "skill %s is an agent, which callers reach by itself; leave offer out", s.Name)
	}
	if _, ok := commands[s.Command]; s.Command != "" && !ok {
		return beeos.Errorf(beeos.Forbidden, "no command %q is allowed here; an admin allows one in the configuration of the server, or give the skill a url", s.Command)
	}
	if s.URL != "" {
		u, err := url.Parse(s.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.Fragment != "" {
			return beeos.Errorf(beeos.InvalidParam, "the url of skill %s is not an http(s) address without user and fragment", s.Name)
		}
	}
	if len(s.Policies) > mostPolicies {
		return beeos.Errorf(beeos.InvalidParam, "skill %s says something about more than %d tools; say it about the skill", s.Name, mostPolicies)
	}
	if len(s.Offer) > mostPolicies {
		return beeos.Errorf(beeos.InvalidParam, "skill %s offers more than %d tools by name; write [%q] for all of them", s.Name, mostPolicies, AllTools)
	}
	for _, tool := range slices.AppendSeq(slices.Clone(s.Offer), maps.Keys(s.Policies)) {
		if tool == "" || len(tool) > longestTool || beeos.Visible(tool) != tool {
			return beeos.Errorf(beeos.InvalidParam, "skill %s: %q is no name of a tool", s.Name, tool)
		}
	}
	return s.Auth.check(s.Name)
}

// IsZero reports whether nothing is said.
func (a Auth) IsZero() bool {
	return len(a.Scopes) == 0 && a.Grant+a.ClientID+a.Issuer+a.Assertion+a.IDP+a.IDPClient == ""
}

func (a Auth) check(name string) error {
	switch a.Grant {
	case "", "authorization_code":
		return nil
	case "client_credentials", "jwt_bearer", "id_jag":
		if a.ClientID == "" {
			return beeos.Errorf(beeos.InvalidParam, "skill %s: grant %s needs a clientId", name, a.Grant)
		}
		return nil
	}
	return beeos.Errorf(beeos.InvalidParam, "skill %s: there is no grant %q; choose authorization_code, client_credentials, jwt_bearer or id_jag", name, a.Grant)
}

// longestName is what model services allow.
const longestName = 64

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// FullName is the name of a tool before the model: two skills may have tools
// of one name. What model services do not take is replaced, and then the name
// ends in a hash, so that two tools never share one.
func FullName(skill, tool string) string {
	name := skill + "__" + tool
	safe := notInNames.ReplaceAllString(name, "_")
	if safe == name && len(name) <= longestName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	const tail = 9
	return safe[:min(len(safe), longestName-tail)] + "_" + hex.EncodeToString(sum[:4])
}
