package remote

import (
	"os"
	"strings"
	"testing"

	"github.com/beeos/beeos/internal/cli/terminal"
)

func TestServerChoice(t *testing.T) {
	data := t.TempDir()
	if _, err := (&Server{Data: data}).ProvideClient(); err == nil || !strings.Contains(terminal.Sentence(err), "beeos dev") {
		t.Errorf("no server at all: %v", err)
	}
	dev := `{"rest":"http://localhost:8095","user_key":"oag_dev"}`
	if err := os.WriteFile(data+"/dev.json", []byte(dev), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		s    Server
		want string // URL, or a part of the error
	}{
		{Server{}, "http://localhost:8095"},
		{Server{URL: "http://localhost:8095/"}, "http://localhost:8095"},
		{Server{URL: "https://x", Key: "k"}, "https://x"},
		{Server{Key: "k"}, "http://localhost:8095"},
		{Server{URL: "https://x"}, "no key for https://x"},
	} {
		c.s.Data = data
		cl, err := c.s.ProvideClient()
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %v", c.s, err)
			}
			continue
		}
		if cl.URL() != c.want {
			t.Errorf("%+v: %s, want %s", c.s, cl.URL(), c.want)
		}
	}
}
