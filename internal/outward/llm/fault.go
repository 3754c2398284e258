package llm

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/beeos/beeos"
)

// errBroken says that an answer ended in the middle.
var errBroken = errors.New("the model's answer broke off; try again")

// fault is what a service's refusal means for who waits for the answer. The
// service's own words are kept, cut short: it never sees anything of ours but
// the conversation and the key, which it does not repeat whole.
func fault(status int, said string) error {
	said = beeos.Shorten(said, 300)
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return beeos.Errorf(beeos.AgentServiceUnavailable, "the model service refuses the key (%d): check LLM_API_KEY", status)
	case status == http.StatusNotFound:
		return beeos.Errorf(beeos.AgentServiceUnavailable, "the model service knows no such model or address (404): check LLM_MODEL and LLM_URL; it says: %s", said)
	case status == http.StatusTooManyRequests:
		return beeos.Errorf(beeos.RateLimited, "the model service is over its rate limit; try again later")
	case status >= 500:
		return beeos.Errorf(beeos.AgentServiceUnavailable, "the model service fails (%d); try again later", status)
	}
	return fmt.Errorf("the model service refuses the conversation (%d): %s", status, said)
}
