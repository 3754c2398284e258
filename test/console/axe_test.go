package console

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/beeos/beeos/test/npm"
)

// axe is the accessibility checker's source.
var axe = sync.OnceValues(func() (string, error) {
	ctx, cancel := npmContext()
	defer cancel()
	tools, err := npm.Install(ctx)
	if err != nil {
		return "", err
	}
	b, err := os.ReadFile(tools.Module("axe-core/axe.min.js"))
	return string(b), err
})

// finding is something that keeps somebody out.
type finding struct {
	ID, Impact, Help string
	Where            []string
}

// accessible reports everything that keeps somebody out of the page, or bothers them.
func (b *tab) accessible(where string) {
	b.T.Helper()
	source, err := axe()
	if err != nil {
		b.T.Fatal(err)
	}
	eval[bool](b, source+"; true")
	found := eval[[]finding](b, `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations
		.map(v => ({ID: v.id, Impact: v.impact, Help: v.help, Where: v.nodes.map(n => n.html.slice(0, 160) + " — " + (n.failureSummary || "").slice(0, 200))})))`)
	for _, f := range found {
		b.T.Errorf("%s: %s (%s): %s\n\t%s", where, f.ID, f.Impact, f.Help, strings.Join(f.Where, "\n\t"))
	}
}

// TestAxeFinds: a check that finds nothing on a bad page proves nothing.
func TestAxeFinds(t *testing.T) {
	source, err := axe()
	if err != nil {
		t.Fatal(err)
	}
	b := open(t)
	eval[bool](b, `document.body.innerHTML = "<input><img src='x'>"; true`)
	eval[bool](b, source+"; true")
	if n := eval[int](b, `axe.run().then(r => r.violations.filter(v => v.impact === "critical").length)`); n == 0 {
		t.Error("a field without a label and a picture without a text are no finding")
	}
}
