package rest_test

import (
	"strings"
	"testing"

	"github.com/beeos/beeos"
)

type offersJSON struct {
	Agents []struct {
		ID, Name, Owner, OwnerID, Visibility string
		Skills                               []struct{ Name string }
	}
	Next string `json:"next_cursor"`
}

func (o offersJSON) names() string {
	var names []string
	for _, a := range o.Agents {
		names = append(names, a.Name)
	}
	return strings.Join(names, " ")
}

// TestMarketplaceListsWhatIsOffered: each visibility is listed where its name
// says, for somebody who owns none of the agents.
func TestMarketplaceListsWhatIsOffered(t *testing.T) {
	s := start(t)
	hidden := false
	ids := s.sync(
		beeos.Definition{Name: "market", Description: "Sells fish.", Skills: []beeos.Skill{{Name: "haggle", Tags: []string{"Trade"}}, {Name: "secret", ExposeAsTool: &hidden}}},
		beeos.Definition{Name: "market2", Description: "Sells bread."}, beeos.Definition{Name: "open"}, beeos.Definition{Name: "quiet"}, beeos.Definition{Name: "own"},
	)
	for name, visibility := range map[string]string{"market": "marketplace", "market2": "marketplace", "open": "public", "quiet": "unlisted"} {
		ok[agentJSON](s, "PATCH", "/api/v1/agents/"+ids[name], `{"visibility":"`+visibility+`"}`)
	}
	s.key = s.other // a stranger from here on
	for query, want := range map[string]string{
		"": "market market2", "?query=SELLS+fish": "market", "?query=haggle": "market", "?query=secret": "", "?tag=trade": "market", "?tag=none": "",
		"?owner=" + s.user: "market market2 open", "?owner=nobody": "", "?limit=1&cursor=" + ids["market"]: "market2", "?cursor=unknown": "",
	} {
		got := ok[offersJSON](s, "GET", "/api/v1/marketplace"+query, "")
		if got.names() != want {
			t.Errorf("%s: %q, want %q", query, got.names(), want)
		}
	}
	first := ok[offersJSON](s, "GET", "/api/v1/marketplace?limit=1", "")
	if first.Next != ids["market"] || first.Agents[0].Owner == "" || first.Agents[0].OwnerID != s.user || len(first.Agents[0].Skills) != 1 {
		t.Errorf("the first page: %+v", first)
	}
	for name, want := range map[string]int{"market": 200, "open": 200, "quiet": 200, "own": 404} {
		if a := s.do("GET", "/api/v1/agents/"+ids[name], s.other, ""); a.status != want {
			t.Errorf("a stranger who knows %s: %d", name, a.status)
		}
	}
}
