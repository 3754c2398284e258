package llm

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"github.com/beeos/beeos"
)

// errBroken says that an answer ended in the middle.
var errBroken = errors.New("the model's answer broke off; try again")

// serviceError says what a service's refusal means for who waits for the answer. The
// service's own words are kept, cut short: it never sees anything of ours but
// the conversation and the key, which it does not repeat whole.
func serviceError(hint string, status int, said string) error {
	said = beeos.Shorten(said, 300)
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return beeos.Errorf(beeos.AgentServiceUnavailable, "the model service refuses the key (%d): check %s", status, cmp.Or(hint, "LLM_API_KEY"))
	case status == http.StatusNotFound:
		return beeos.Errorf(beeos.AgentServiceUnavailable, "the model service knows no such model or address (404): check the name, and the service's URL; it says: %s", said)
	case status == http.StatusTooManyRequests:
		return beeos.Errorf(beeos.RateLimited, "the model service is over its rate limit; try again later")
	case status >= 500:
		return beeos.Errorf(beeos.AgentServiceUnavailable, "the model service fails (%d); try again later", status)
	}
	return &refusal{status, said}
}

// refusal is that a service does not take a conversation as it is.
type refusal struct {
	status int
	said   string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("the model service refuses the conversation (%d): %s", r.status, r.said)
}

// MayRefuseFiles reports whether an error can be about the pictures and documents
// of a conversation: many services and models take none.
func MayRefuseFiles(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && RefusesContent(r.status)
}

// RefusesContent reports whether a status says that a service does not take what
// it was sent.
func RefusesContent(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return true
	}
	return false
}
