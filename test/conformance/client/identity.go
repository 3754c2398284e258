package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/beeos/beeos/internal/outward/oauthclient"
)

const redirect = "http://localhost:3000/callback"

// identity is who to be in a scenario.
func identity(scenario string, s situation) (oauthclient.Client, error) {
	c := oauthclient.Client{
		ID: s.ClientID, Secret: s.ClientSecret, Name: "BeeOS conformance", Redirect: redirect,
		Document: "https://conformance-test.local/client-metadata.json",
	}
	switch scenario {
	case "auth/client-credentials-basic":
		c.Grant = oauthclient.ClientCredentials
	case "auth/client-credentials-jwt":
		c.Grant = oauthclient.ClientCredentials
		key, err := oauthclient.ParseKey(s.PrivateKey)
		if err != nil {
			return c, err
		}
		c.Key = key
	case "auth/wif-jwt-bearer":
		c.Grant, c.Assertion = oauthclient.JWTBearer, fixed(s.WorkloadJWT)
	case "auth/enterprise-managed-authorization":
		c.Grant, c.Assertion = oauthclient.IDJAG, fixed(s.IDToken)
		c.IDP, c.IDPClient = s.IDPTokenURL, s.IDPClient
	}
	return c, nil
}

func fixed(text string) func(context.Context, string) (string, error) {
	return func(context.Context, string) (string, error) { return text, nil }
}

// consent is a person who agrees: the suite's authorization server answers at
// once.
func consent(ctx context.Context, p oauthclient.Pending) (url.Values, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
	if err != nil {
		return nil, err
	}
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := browser.Do(req)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	back, err := resp.Location()
	if err != nil {
		return nil, fmt.Errorf("the authorization server leads nowhere (%s): %w", resp.Status, err)
	}
	return back.Query(), nil
}
