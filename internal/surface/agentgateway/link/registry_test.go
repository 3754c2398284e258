package link

import (
	"strings"
	"testing"

	"github.com/beeos/beeos"
)

// TestLeastLoadedConnectionIsPicked: work goes where there is least of it.
func TestLeastLoadedConnectionIsPicked(t *testing.T) {
	s := &servedAgent{conns: []*Connection{{}, {}, {}, {}}}
	for range 4 * 5 {
		s.pickConnection(nil).load.Add(1)
	}
	for i, c := range s.conns {
		if got := c.load.Load(); got != 5 {
			t.Errorf("connection %d has %d turns, want 5", i, got)
		}
	}
}

// TestInstanceHasBoundedConnections: one instance cannot take all that a node has.
func TestInstanceHasBoundedConnections(t *testing.T) {
	r := &registry{instances: map[string]map[*Connection]bool{"one": {}}, conns: map[string]*Connection{}, agents: map[string]*servedAgent{}}
	for range maxConnections {
		r.instances["one"][&Connection{}] = true
	}
	_, err := r.add(&Connection{ID: "more", Instance: "one"}, nil)
	if beeos.CodeOf(err) != beeos.RateLimited || !strings.Contains(err.Error(), "connections") {
		t.Error(err)
	}
	if r.conns["more"] != nil || len(r.instances["one"]) != maxConnections {
		t.Error("it is kept all the same")
	}
	for known := range r.instances["one"] { // which serves more agents than before
		known.Instance = "one"
		if _, err := r.add(known, nil); err != nil {
			t.Fatal(err)
		}
		break
	}
}
