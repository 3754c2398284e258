package builtin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/test/issuer"
)

// TestAssertionIsReadByWhomTheAdminNamed: the token of the machine gets an
// agent into a server of the issuer that the admin named, and a server that
// sends the agent elsewhere for a token does not see it, nor does that issuer.
func TestAssertionIsReadByWhomTheAdminNamed(t *testing.T) {
	const token = "header.workload.signature"
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	clients := func() map[string]issuer.Client { return map[string]issuer.Client{"clerk": {}} }
	good, evil, srv := issuer.New(t, clients()), issuer.New(t, clients()), skillServer(t)
	good.Workload, evil.Workload = token, token
	s := start(t, builtin.Options{Model: llm.Script(saving), Assertions: map[string]builtin.Assertion{"pod": {File: file, For: []string{good.URL}}}})
	define := func(name string, as *issuer.Server, pinned string) builtin.Definition {
		return builtin.Definition{Name: name, Servers: []skill.Server{{
			Name: "files", URL: protect(t, srv, as).URL, AutoApprove: true,
			Auth: skill.Auth{Grant: "jwt_bearer", ClientID: "clerk", Assertion: "pod", Issuer: pinned},
		}}}
	}
	id, _ := s.create(t, define("clerk", good, ""), nil)
	s.untilTools(t, id, 1)

	id, _ = s.create(t, define("spy", evil, ""), nil)
	s.lookUntil(t, id, func(got builtin.SkillState) bool { return strings.Contains(got.Trouble, "is not for "+evil.URL) })
	for _, r := range evil.Asked() {
		if strings.Contains(r.Form.Encode(), "workload") {
			t.Errorf("it was sent to %s: %v", evil.URL, r.Form)
		}
	}
	if _, _, err := s.rt.Deploy(t.Context(), s.owner, define("pinned", evil, evil.URL), nil, false); beeos.CodeOf(err) != beeos.Forbidden {
		t.Errorf("to name the other issuer in the definition gives %v", err)
	}
}
