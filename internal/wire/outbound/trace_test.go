package outbound

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/beeos/beeos"
)

// TestTraceIsPassedOn: a request says in its headers where in a trace its context
// stands, unless they do already; the request that was given stays as it is.
func TestTraceIsPassedOn(t *testing.T) {
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	defer server.Close()
	ctx := t.Context()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ask := func(t beeos.Trace, client *http.Client, given string) (*http.Request, error) {
		req, err := http.NewRequestWithContext(beeos.WithTrace(ctx, t), "GET", server.URL, nil)
		if err != nil {
			return nil, err
		}
		if given != "" {
			req.Header.Set("Traceparent", given)
		}
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		return req, err
	}
	o := Options{AllowPrivate: true}
	for name, client := range map[string]*http.Client{"client": Client(o), "over": ClientOver(Transport(o), o)} {
		for _, c := range []struct {
			trace               beeos.Trace
			given, want, states string
		}{
			{beeos.Trace{}, "", "", ""},
			{beeos.ParseTrace(parent, "a=1"), "", parent, "a=1"},
			{beeos.ParseTrace(parent, ""), "", parent, ""},
			{beeos.ParseTrace(parent, ""), "mine", "mine", ""},
		} {
			req, err := ask(c.trace, client, c.given)
			if err != nil || got.Get("Traceparent") != c.want || len(got["Traceparent"]) > 1 || got.Get("Tracestate") != c.states {
				t.Errorf("%s: %v, %v", name, got, err)
			}
			if req.Header.Get("Traceparent") != c.given {
				t.Errorf("%s: the request was changed: %v", name, req.Header)
			}
		}
	}
}
