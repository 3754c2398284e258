package oauth

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/oauth/protocol"
	"github.com/beeos/beeos/internal/store/grants"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const (
	registerMost = 5                    // a minute from one address
	clientsMost  = 10_000               // in all
	unusedFor    = 24 * time.Hour       // how long a registration waits for its first consent
	usedFor      = 366 * 24 * time.Hour // and for the next one
)

// registration is RFC 7591, as far as it means anything here. Whatever else a
// client says of itself is not kept; above all no address is ever fetched.
type registration struct {
	ID        string   `json:"client_id"`
	IssuedAt  int64    `json:"client_id_issued_at"`
	Name      string   `json:"client_name"`
	Redirects []string `json:"redirect_uris"`
	Type      string   `json:"application_type,omitempty"`
	Grants    []string `json:"grant_types"`
	Responses []string `json:"response_types"`
	Auth      string   `json:"token_endpoint_auth_method"`
}

// register takes a client in. All are public, whatever they ask for: no
// secret is given to anybody.
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	c, err := s.readRegistration(w, r)
	if err == nil {
		at := s.opt.Now()
		err = s.opt.Grants.CreateClient(r.Context(), grants.Client{
			ID: c.ID, Name: c.Name, RedirectURIs: c.Redirects, CreatedAt: at, ExpiresAt: at.Add(unusedFor),
		}, clientsMost)
	}
	protocol.Answer(w, r, http.StatusCreated, c, err)
}

func (s *Server) readRegistration(w http.ResponseWriter, r *http.Request) (c registration, err error) {
	if err := s.registers.Take(address(r)); err != nil {
		return c, err
	}
	body, err := httpd.ReadJSON(w, r, bodyMost)
	if err != nil && beeos.CodeOf(err) != beeos.PayloadTooLarge {
		err = refusal("invalid_client_metadata", beeos.Public(err).Message)
	}
	if err != nil {
		return c, err
	}
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(body, &c); errors.As(err, &wrong) {
		if wrong.Field == "redirect_uris" {
			return c, refusal("invalid_redirect_uri", "redirect_uris is a list of strings")
		}
		return c, refusal("invalid_client_metadata", wrong.Field+" is of the wrong type")
	} else if err != nil {
		return c, refusal("invalid_client_metadata", "the body is no JSON object")
	}
	if err := checkRedirects(c.Redirects); err != nil {
		return c, err
	}
	return registration{
		ID: beeos.NewSecret(clientPrefix), IssuedAt: s.opt.Now().Unix(),
		Name: cleanName(c.Name, c.Redirects[0]), Redirects: c.Redirects, Type: c.Type,
		Grants: []string{"authorization_code", "refresh_token"}, Responses: []string{"code"}, Auth: "none",
	}, nil
}
