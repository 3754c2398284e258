// Package person is somebody at a browser who signs in at the console and says
// yes to an app, over HTTP and unattended. It reads pages as far as it must to
// fill them in; a real browser is in test/browser.
package person

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// Person is that somebody, with one browser.
type Person struct {
	Email, Password string
	AgentID         string // what they let apps at

	cookies map[string]map[string]string // host -> name -> value
}

// page is where a browser has ended up.
type page struct {
	at   *url.URL
	text string
	next string // where the page leads by itself
}

const mostSteps = 20

// visit opens an address, with a form if there is one, and follows redirects.
func (p *Person) visit(ctx context.Context, address string, form url.Values) (page, error) {
	for range mostSteps {
		body, method := io.Reader(nil), http.MethodGet
		if form != nil {
			body, method = strings.NewReader(form.Encode()), http.MethodPost
		}
		r, err := http.NewRequestWithContext(ctx, method, address, body)
		if err != nil {
			return page{}, err
		}
		if form != nil {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		for name, value := range p.cookies[r.URL.Hostname()] {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			return page{}, err
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return page{}, err
		}
		p.keep(r.URL.Hostname(), resp.Cookies())
		to, err := resp.Location()
		if errors.Is(err, http.ErrNoLocation) {
			if resp.StatusCode >= 400 {
				return page{}, fmt.Errorf("%s %s: %s\n%s", method, address, resp.Status, text)
			}
			_, next, _ := strings.Cut(resp.Header.Get("Refresh"), "url=")
			return page{r.URL, string(text), next}, nil
		}
		if err != nil {
			return page{}, err
		}
		address, form = to.String(), nil
	}
	return page{}, fmt.Errorf("%s leads from one place to the next", address)
}

func (p *Person) keep(host string, cookies []*http.Cookie) {
	if p.cookies == nil {
		p.cookies = map[string]map[string]string{}
	}
	if p.cookies[host] == nil {
		p.cookies[host] = map[string]string{}
	}
	for _, c := range cookies {
		if p.cookies[host][c.Name] = c.Value; c.MaxAge < 0 {
			delete(p.cookies[host], c.Name)
		}
	}
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)

// send fills in the form of a page and sends it to the place that it is from.
func (p *Person) send(ctx context.Context, from page, fields ...string) (page, error) {
	form := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(from.text, -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return p.visit(ctx, from.at.Scheme+"://"+from.at.Host+from.at.Path, form)
}

// Join uses a link to choose a password.
func (p *Person) Join(ctx context.Context, link string) error {
	at, err := p.visit(ctx, link, nil)
	if err == nil {
		_, err = p.send(ctx, at, "email", p.Email, "password", p.Password)
	}
	p.cookies = nil // signed in by that; a test of signing in begins outside
	return err
}

// Consent opens what an app wants opened, signs in if need be, allows the one
// agent, and returns the last address, which is the app's.
func (p *Person) Consent(ctx context.Context, address string) (*url.URL, error) {
	at, err := p.visit(ctx, address, nil)
	for range mostSteps {
		switch {
		case err != nil:
			return nil, err
		case at.next != "":
			at, err = p.visit(ctx, at.next, nil)
		case strings.HasSuffix(at.at.Path, "/signin"):
			at, err = p.send(ctx, at, "email", p.Email, "password", p.Password)
		case strings.HasSuffix(at.at.Path, "/mcp-login"):
			at, err = p.send(ctx, at, "decision", "allow", "agent", p.AgentID)
		default:
			return at.at, nil
		}
	}
	return nil, fmt.Errorf("%s never ends", address)
}
