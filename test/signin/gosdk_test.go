//go:build unix

package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// TestGoSDK is the story of the official Go client, once registered and once
// known by its document.
func TestGoSDK(t *testing.T) {
	t.Run("registers", func(t *testing.T) {
		story(t, func(t *testing.T, w *world) client { return newGoClient(t, w, "Gopher", "") }, "Gopher", false)
	})
	t.Run("has a document", func(t *testing.T) {
		story(t, func(t *testing.T, w *world) client { return newGoClient(t, w, "", documents.URL+"/go/client.json") }, documentedName, true)
	})
}

// goClient is the official Go client with its own sign-in.
type goClient struct {
	t        *testing.T
	clock    *clock
	handler  *auth.AuthorizationCodeHandler
	session  *mcp.ClientSession
	wants    chan string
	answers  chan url.Values
	redirect string

	mu     sync.Mutex
	source oauth2.TokenSource
}

// newGoClient makes one that registers under a name, or that has a document.
func newGoClient(t *testing.T, w *world, name, document string) *goClient {
	t.Helper()
	c := &goClient{t: t, clock: w.clock, wants: make(chan string, 1), answers: make(chan url.Values, 1)}
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/callback" {
			c.answers <- r.URL.Query()
		}
	}))
	t.Cleanup(back.Close)
	c.redirect = back.URL + "/callback"
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: c.redirect, AuthorizationCodeFetcher: c.fetch, NewTokenSource: c.keep,
	}
	if document != "" {
		config.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: document}
	} else {
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{ClientName: name, RedirectURIs: []string{c.redirect}},
		}
	}
	var err error
	if c.handler, err = auth.NewAuthorizationCodeHandler(config); err != nil {
		t.Fatal(err)
	}
	return c
}

// fetch sends a person to the address and waits until they are back.
func (c *goClient) fetch(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	select {
	case c.wants <- args.URL:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case q := <-c.answers:
		if code := q.Get("error"); code != "" {
			return nil, errors.New(code)
		}
		return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *goClient) keep(ctx context.Context, config *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.source = &aging{ctx: ctx, config: config, clock: c.clock, token: token}
	return c.source, nil
}

// aging is the library's source of tokens as it is an hour later. The library
// asks the time of nobody but the system, so it is told an earlier expiry.
type aging struct {
	ctx    context.Context
	config *oauth2.Config
	clock  *clock

	mu    sync.Mutex
	token *oauth2.Token
}

func (a *aging) Token() (*oauth2.Token, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := *a.token
	now.Expiry = now.Expiry.Add(time.Since(a.clock.now()))
	next, err := a.config.TokenSource(a.ctx, &now).Token()
	if err == nil && next.AccessToken != a.token.AccessToken {
		refreshed := *next
		refreshed.Expiry = refreshed.Expiry.Add(-time.Since(a.clock.now()))
		a.token = &refreshed
	}
	return next, err
}

func (c *goClient) opened() <-chan string { return c.wants }

func (c *goClient) connect(ctx context.Context, endpoint string) error {
	// Connections of its own, so that none of them is left to the next test.
	transport := &mcp.StreamableClientTransport{
		Endpoint: endpoint, HTTPClient: &http.Client{Transport: &http.Transport{}}, OAuthHandler: c.handler, DisableStandaloneSSE: true,
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		return err
	}
	c.session = session
	c.t.Cleanup(func() { _ = session.Close() }) // it was disconnected before
	return nil
}

func (c *goClient) tools(ctx context.Context) (names []string, err error) {
	for tool, err := range c.session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names = append(names, tool.Name)
	}
	return names, nil
}

func (c *goClient) call(ctx context.Context, tool, message string) (string, error) {
	result, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: map[string]string{"message": message}})
	if err != nil {
		return "", err
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok || result.IsError {
		return "", fmt.Errorf("%+v", result)
	}
	return text.Text, nil
}

func (c *goClient) token() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	token, err := c.source.Token()
	if err != nil {
		return err.Error()
	}
	return token.AccessToken
}
