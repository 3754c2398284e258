package auth

import (
	"net/http"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// Surface is a door through which requests with credentials come.
type Surface string

const (
	MCP    Surface = "mcp"
	A2A    Surface = "a2a"
	REST   Surface = "rest"
	Agents Surface = "agents" // where agents dial in
)

// Audience is where a credential has to be good.
type Audience struct {
	Surface  Surface
	Resource string // MCP: the endpoint that a token must be for
}

// Method is a kind of credential: how it is recognised, where it is good, and
// how it is checked.
type Method struct {
	Prefix   string // of its credentials; "" = those that no other method claims
	Header   string // carries it bare, for clients that cannot set Authorization; "" = none
	Surfaces []Surface
	Check    func(r *http.Request, credential string, at Audience) (beeos.Caller, error)

	headerKey string // Header, as net/http keeps it
}

// AgentKeyHeader carries an agent key for clients that cannot set
// Authorization.
const AgentKeyHeader = "X-Agent-API-Key"

// keyMethods are the two kinds of API keys. They are good at every surface; at
// some, agent keys get to hear that they do not suffice.
func (a *Authenticator) keyMethods() []Method {
	everywhere := []Surface{MCP, A2A, REST, Agents}
	return []Method{
		{Prefix: beeos.UserKeyPrefix, Surfaces: everywhere, Check: a.checkKey},
		{Prefix: beeos.AgentKeyPrefix, Header: AgentKeyHeader, Surfaces: everywhere, Check: a.checkKey},
	}
}

// Authenticate returns who sent the request, by a credential that is good
// there. One that no method knows, or whose method is for other surfaces, is
// refused like one that is unknown.
func (a *Authenticator) Authenticate(r *http.Request, at Audience) (beeos.Caller, error) {
	credential, err := a.credential(r)
	if err != nil {
		return beeos.Caller{}, err
	}
	m := a.methodFor(credential, at.Surface)
	if m == nil {
		return beeos.Caller{}, a.countGuess(r, RefuseCredential())
	}
	caller, err := m.Check(r, credential, at)
	if err == nil {
		httpd.SetSender(r, caller.UserID)
	}
	return caller, err
}

// methodFor returns the method of a credential if that is good at a surface.
func (a *Authenticator) methodFor(credential string, at Surface) *Method {
	for i := range a.methods {
		m := &a.methods[i]
		if !strings.HasPrefix(credential, m.Prefix) {
			continue
		}
		if slices.Contains(m.Surfaces, at) {
			return m
		}
		if m.Prefix != "" {
			return nil
		}
	}
	return nil
}

// credential returns the one credential of a request. Two different ones are
// refused, because acting on either could surprise somebody.
func (a *Authenticator) credential(r *http.Request) (string, error) {
	token := ""
	for _, h := range r.Header["Authorization"] {
		scheme, rest, _ := strings.Cut(h, " ")
		rest = strings.TrimSpace(rest)
		if !strings.EqualFold(scheme, "Bearer") || rest == "" {
			return "", beeos.Errorf(beeos.Unauthorized, "the Authorization header is not of the form \"Bearer <key>\"; correct it")
		}
		if token != "" && token != rest {
			return "", twoCredentials()
		}
		token = rest
	}
	for i := range a.methods {
		m := &a.methods[i]
		for _, h := range r.Header[m.headerKey] {
			h = strings.TrimSpace(h)
			if token != "" && token != h {
				return "", twoCredentials()
			}
			if token != "" {
				continue // generated clients send what they have in every place that may hold it
			}
			if h == "" || !strings.HasPrefix(h, m.Prefix) {
				return "", beeos.Errorf(beeos.InvalidToken, "%s takes a key that begins with %s; send other credentials as \"Authorization: Bearer <key>\"", m.Header, m.Prefix)
			}
			token = h
		}
	}
	if token == "" {
		return "", beeos.Errorf(beeos.MissingToken, "no credential; send \"Authorization: Bearer <key>\" or \"%s: <agent key>\"", AgentKeyHeader)
	}
	return token, nil
}

func twoCredentials() error {
	return beeos.Errorf(beeos.Unauthorized, "the request has two different credentials; send one, in Authorization or in %s", AgentKeyHeader)
}

// RefuseCredential is the one answer to every credential that is no good,
// whatever it is and whyever.
func RefuseCredential() error {
	return beeos.Errorf(beeos.InvalidToken, "this credential is unknown, expired or revoked; get a new one and send that")
}
