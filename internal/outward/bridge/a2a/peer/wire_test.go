package peer

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestReadEvent(t *testing.T) {
	for text, want := range map[string]string{
		`{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_AUTH_REQUIRED"}}}`: "t c auth-required",
		`{"kind":"task","id":"t","contextId":"c","status":{"state":"input-required"}}`:      "t c input-required",
		`{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}`:                "t c working",
		`{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_FAILED"}}}`:            "t  failed",
		`{"kind":"artifact-update","taskId":"t","artifact":{"artifactId":"a"}}`:             "t  ",
		`{"message":{"messageId":"m","contextId":"c","parts":[]}}`:                          " c ",
		`{"kind":"message","messageId":"m","parts":[{"kind":"text","text":"x"}]}`:           "  ",
		`{"task":{"id":"","status":{}}}`:                                                    "", `{"task":{"id":"t"}}`: "", `{"statusUpdate":{}}`: "", `{"message":{}}`: "", `{}`: "", `[]`: "", `null`: "", `"x"`: "",
		`{"task":[]}`: "", `{"kind":"surprise","id":"t"}`: "",
	} {
		ev, err := readEvent(json.RawMessage(text))
		got := ""
		if err == nil {
			got = ev.Task + " " + ev.Context + " "
			if ev.Status != nil {
				got += ev.Status.State
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q (%v)", text, got, want, err)
		}
	}
}

func TestChooseInterface(t *testing.T) {
	own := []string{"https://a.example.com/agents/7"}
	one := func(url, binding, version string) Interface {
		return Interface{URL: url, Binding: binding, Version: version}
	}
	for name, c := range map[string]struct {
		card Card
		want string
	}{
		"1.0 first":          {Card{Interfaces: []Interface{one("https://a.example.com/3", "JSONRPC", "0.3"), one("https://A.example.com:443/r", "HTTP+JSON", "1.0"), one("https://a.example.com/1", "JSONRPC", "1.0")}}, "https://a.example.com/1"},
		"0.3":                {Card{URL: "https://a.example.com/x"}, "https://a.example.com/x"},
		"0.3, another way":   {Card{URL: "https://a.example.com/g", Transport: "GRPC", Others: []Interface{{URL: "https://a.example.com/j", Transport: "JSONRPC"}}}, "https://a.example.com/j"},
		"gRPC alone":         {Card{Interfaces: []Interface{one("https://a.example.com", "GRPC", "1.0")}}, "names no way"},
		"elsewhere":          {Card{Interfaces: []Interface{one("http://169.254.169.254/latest", "JSONRPC", "1.0")}}, "another place"},
		"plain":              {Card{URL: "http://a.example.com/x"}, "another place"},
		"another port":       {Card{URL: "https://a.example.com:8443/x"}, "another place"},
		"somebody's name":    {Card{URL: "https://a.example.com@evil.example.com/x"}, "another place"},
		"no address":         {Card{URL: "::"}, "another place"},
		"nothing":            {Card{}, "names no way"},
		"own before another": {Card{Interfaces: []Interface{one("https://b.example.com", "JSONRPC", "1.0")}, URL: "https://a.example.com/x"}, "https://a.example.com/x"},
	} {
		a, err := c.card.chooseInterface(own)
		if err == nil && a.URL != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v, want %q", name, a, err, c.want)
		}
	}
}
