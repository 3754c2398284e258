package web

import (
	"crypto/ed25519"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/web/connect"
)

// withBridges lets the console tell about a kind of bridge, and where agents
// connect.
func (k *stack) withBridges(gateway string) {
	k.t.Helper()
	opt := k.site.Options
	opt.GatewayURL = gateway
	opt.Bridges = []connect.Bridge{{Name: "pigeon", Title: "A pigeon", About: "It carries messages.", Options: []connect.Option{{Flag: "pigeon", Help: "Its ring.", Example: "ring 7"}, {Flag: "corn", Help: "What it eats."}}}}
	var err error
	if k.site, err = New(opt); err != nil {
		k.t.Fatal(err)
	}
}

var joins = regexp.MustCompile(`BEEOS_JOIN_TOKEN=([A-Za-z0-9_-]+)`)

// TestConnectLeadsToAgent without JavaScript: a kind that the command line knows
// has a page, whose command has this server's address and a token that works
// once; mistakes are said in words; and the page sees the agent when it is there.
func TestConnectLeadsToAgent(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	k.withBridges("http://agents.example/")
	at := k.signedIn(ann)
	ways := at.get("/connect").body
	for _, word := range []string{`href="/connect/pigeon"`, "A pigeon", "--pigeon", `href="/connect/go"`, `href="/connect/python"`, `href="/connect/typescript"`, `href="/connect/protocol"`, `href="/agents/new"`} {
		if !strings.Contains(ways, word) {
			t.Errorf("the ways lack %s", word)
		}
	}
	for _, page := range []string{"/", "/agents"} {
		if !strings.Contains(at.get(page).body, `href="/connect"`) {
			t.Errorf("%s does not lead there", page)
		}
	}
	for form, want := range map[string]string{
		"name=&o.pigeon=7":                             "ame is missing",
		"name=%20&o.pigeon=7":                          "ame is missing",
		"name=x&o.pigeon=":                             "Fill in --pigeon; for example ring 7",
		"name=x&o.pigeon=a%0Ab":                        "cannot be seen",
		"name=x&o.pigeon=" + strings.Repeat("x", 2001): "longer than 2000",
	} {
		values, err := url.ParseQuery(form)
		if err != nil {
			t.Fatal(err)
		}
		if res := at.post("/connect/pigeon", values); res.status != http.StatusBadRequest || !strings.Contains(res.body, want) || strings.Contains(res.body, "BEEOS_JOIN_TOKEN") {
			t.Errorf("%s: %d %s", form, res.status, res.body)
		}
	}
	for way, wants := range map[string][]string{
		"go":         {"beeos agent new bird\n", "agent.Options{Name: \"bird\"}"},
		"python":     {"beeos agent new bird --lang python", "python3 -m venv ./bird/.venv && ./bird/.venv/bin/python -m pip install -r ./bird/requirements.txt", "Agent(\"bird\")"},
		"typescript": {"beeos agent new bird --lang typescript", "npm --prefix ./bird install", "new Agent(\"bird\")"},
	} {
		if res := at.post("/connect/"+way, url.Values{"name": {"My Agent"}}); res.status != http.StatusBadRequest || !strings.Contains(res.body, "lower-case letters") {
			t.Errorf("a name that no folder of a project has, in %s: %d", way, res.status)
		}
		body := html.UnescapeString(at.post("/connect/"+way, url.Values{"name": {"bird"}}).body)
		for _, want := range append(wants, "beeos agent run ./bird", "AGENT_GATEWAY_URL=http://agents.example") {
			if text := strings.ReplaceAll(body, "</code>", "\n"); !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", way, want)
			}
		}
	}
	for _, path := range []string{"/connect/builtin", "/connect/nothing", "/connect/exec"} {
		if res := at.get(path); res.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, res.status)
		}
	}

	res := at.post("/connect/pigeon", url.Values{"name": {"bird"}, "o.pigeon": {"ring <7>"}, "o.corn": {""}})
	body := html.UnescapeString(res.body)
	found := joins.FindStringSubmatch(body)
	if found == nil || !strings.Contains(body, "AGENT_GATEWAY_URL=http://agents.example \\\nBEEOS_JOIN_TOKEN="+found[1]+" \\\n  beeos connect --name bird --pigeon 'ring <7>'") {
		t.Fatalf("%d %s", res.status, body)
	}
	if !strings.Contains(body, `/connect/pigeon/live?name=bird`) || !strings.Contains(body, "Nothing is connected as bird yet") {
		t.Errorf("it does not wait: %s", body)
	}
	key, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	inst := beeos.Instance{ID: beeos.NewID(), Name: "loft", PublicKey: key}
	owner, err := k.db.Instances.Join(t.Context(), found[1], inst)
	if err != nil || owner != ann.ID {
		t.Fatalf("the token is %q's: %v", owner, err)
	}
	again, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.db.Instances.Join(t.Context(), found[1], beeos.Instance{ID: beeos.NewID(), Name: "loft", PublicKey: again}); err == nil {
		t.Error("the token works twice")
	}

	later := "/connect/pigeon?name=bird"
	if body := at.get(later).body; strings.Contains(body, "BEEOS_JOIN_TOKEN") || !strings.Contains(body, "Nothing is connected as bird yet") || !strings.Contains(body, `value="bird"`) {
		t.Errorf("later: %s", body)
	}
	inst.OwnerID = ann.ID
	synced, err := k.db.Agents.Sync(t.Context(), inst, []beeos.Definition{{Name: "bird"}})
	if err != nil {
		t.Fatal(err)
	}
	id := synced.IDs()["bird"]
	if body := at.get(later).body; !strings.Contains(body, "Nothing is connected") {
		t.Error("an agent that is declared and not connected is there")
	}
	k.online[id] = true
	body = at.get(later).body
	for _, word := range []string{"bird is connected", `href="/agents/` + id + `/chat"`, k.mcp + "/" + id + "/mcp"} {
		if !strings.Contains(body, word) {
			t.Errorf("connected: it lacks %s: %s", word, body)
		}
	}
	if res := at.post("/connect/pigeon", url.Values{"name": {"bird"}, "o.pigeon": {"7"}}); res.status != http.StatusConflict || !strings.Contains(res.body, "choose another name") {
		t.Errorf("a name that is taken: %d", res.status)
	}
	if body := k.signedIn(k.user("Bob", false)).get(later).body; !strings.Contains(body, "Nothing is connected as bird") {
		t.Error("a stranger sees the agent")
	}

	k.withBridges("")
	if res := at.post("/connect/pigeon", url.Values{"name": {"owl"}, "o.pigeon": {"7"}}); res.status != http.StatusConflict || !strings.Contains(res.body, "AGENT_GATEWAY_URL") {
		t.Errorf("without a gateway: %d %s", res.status, res.body)
	}
}
