//go:build unix

package signin

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// client is a program that somebody else wrote, as far as the story needs it.
type client interface {
	// connect goes to an endpoint. When it wants a person to open an address it
	// says so on opened, and goes on once its redirect was called.
	connect(ctx context.Context, endpoint string) error
	opened() <-chan string
	tools(ctx context.Context) ([]string, error)
	call(ctx context.Context, tool, message string) (string, error)
	// token is the access token that it has now.
	token() string
}

const (
	storyWithin = 3 * time.Minute
	hour        = 61 * time.Minute // that access tokens do not outlive
)

// story is what every client goes through: it meets a person who lets it at
// one of two agents, works, goes on when its token has expired, and is stopped.
// It talks to the endpoint of the agent, or, when union is set, to that of all.
func story(t *testing.T, of func(*testing.T, *world) client, name string, union bool) {
	t.Helper()
	w := newWorld(t)
	c := of(t, w)
	ctx, cancel := context.WithTimeout(t.Context(), storyWithin)
	defer cancel()
	endpoint, tool := w.endpoint(w.AgentID), w.AgentID
	if union {
		endpoint, tool = w.endpoint(""), "echo"
	}
	if got := ask(t, endpoint, "nothing"); got.status != http.StatusUnauthorized || !strings.Contains(got.challenge, `resource_metadata="`+w.MCP+"/.well-known/") {
		t.Errorf("without a token: %+v", got)
	}

	person := open(t)
	connected := make(chan error, 1)
	go func() { connected <- c.connect(ctx, endpoint) }() // awaited below
	select {
	case address := <-c.opened():
		person.consents(address, name, w.AgentID)
	case err := <-connected:
		t.Fatalf("it did not ask for a person: %v", err)
	}
	if err := <-connected; err != nil {
		t.Fatalf("connect: %v\nthe person sees %s", err, person.Sees())
	}

	tools, err := c.tools(ctx)
	if err != nil || !slices.ContainsFunc(tools, func(s string) bool { return strings.Contains(s, tool) }) {
		t.Fatalf("tools: %v, %v", tools, err)
	}
	if slices.ContainsFunc(tools, func(s string) bool { return strings.Contains(s, "weather") || strings.Contains(s, w.weather) }) {
		t.Errorf("the other agent is listed: %v", tools)
	}
	tool = tools[slices.IndexFunc(tools, func(s string) bool { return strings.Contains(s, tool) })]
	if got, err := c.call(ctx, tool, "hello there"); err != nil || got != "you said: hello there" {
		t.Errorf("call: %q, %v", got, err)
	}

	first := c.token()
	if got, err := c.call(ctx, strings.NewReplacer("echo", "weather", w.AgentID, w.weather).Replace(tool), "and you?"); err == nil {
		t.Errorf("the other agent answers: %q", got)
	}
	if got := ask(t, w.endpoint(w.weather), first); got.status != http.StatusUnauthorized {
		t.Errorf("at the other agent: %+v", got)
	}
	w.clock.pass(hour)
	if got := ask(t, endpoint, first); got.status != http.StatusUnauthorized || !strings.Contains(got.challenge, `error="invalid_token"`) {
		t.Errorf("with an expired token: %+v", got)
	}
	if got, err := c.call(ctx, tool, "an hour later"); err != nil || got != "you said: an hour later" {
		t.Errorf("call after the token has expired: %q, %v", got, err)
	}
	second := c.token()
	if second == first {
		t.Error("the token was not refreshed")
	}
	select {
	case address := <-c.opened():
		t.Errorf("a refresh needs a person: %s", address)
	default:
	}

	person.disconnects(w.Web, name)
	cut := time.Now()
	if got := ask(t, endpoint, second); got.status != http.StatusUnauthorized {
		t.Errorf("%v after it was disconnected: %+v", time.Since(cut), got)
	}
	over := make(chan error, 1)
	again, leave := context.WithCancel(ctx)
	defer leave()
	go func() { // awaited below
		got, err := c.call(again, tool, "once more")
		if err == nil {
			err = errors.New("answered: " + got)
		}
		over <- err
	}()
	select {
	case <-c.opened(): // it may come back only through a person, who has left
		leave()
		<-over
	case err := <-over:
		t.Errorf("after it was disconnected it did not ask for a person: %v", err)
	}
}
