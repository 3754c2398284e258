package replay

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/beeos/beeos/internal/cli/terminal"
)

// progress tells how far a run is: as a bar to a person, else as a line after
// each tenth.
type progress struct {
	t        *terminal.Terminal
	quiet    bool
	mu       sync.Mutex
	counts   map[kind]int
	all      int
	done     int
	before   int // that an earlier run had done
	began    time.Time
	lastTold int       // tenths, where nobody watches
	lastBar  time.Time // where somebody does
}

const (
	barWidth = 30
	barEvery = 100 * time.Millisecond
)

func startProgress(t *terminal.Terminal, all int, results map[string]result, quiet bool) *progress {
	p := &progress{t: t, quiet: quiet && !t.Person, counts: map[kind]int{}, all: all, done: len(results), before: len(results), began: time.Now()}
	for _, r := range results {
		p.counts[r.Kind]++
	}
	p.lastTold = 10 * p.done / max(1, all)
	return p
}

// count adds a result.
func (p *progress) count(r result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.counts[r.Kind]++
	if p.quiet {
		return
	}
	if !p.t.Person {
		if tenths := 10 * p.done / p.all; tenths > p.lastTold {
			p.lastTold = tenths
			p.t.Note("%s", p.describe())
		}
		return
	}
	if now := time.Now(); now.Sub(p.lastBar) >= barEvery || p.done == p.all {
		p.lastBar = now
		filled := barWidth * p.done / p.all
		fmt.Fprintf(p.t.Err, "\r\x1b[K[%s%s] %s", strings.Repeat("=", filled), strings.Repeat(" ", barWidth-filled), p.describe()) //nolint:errcheck // only for the looks
	}
}

func (p *progress) describe() string {
	text := fmt.Sprintf("%d of %d: %d the same, %d differ, %d failed", p.done, p.all, p.counts[same], p.counts[differs], p.counts[failed])
	if p.counts[skipped] > 0 {
		text += fmt.Sprintf(", %d left out", p.counts[skipped])
	}
	if made := p.done - p.before; made > 0 && p.done < p.all {
		left := time.Since(p.began) / time.Duration(made) * time.Duration(p.all-p.done)
		text += fmt.Sprintf(", about %s left", left.Round(time.Second))
	}
	return text
}

// stop leaves the line of the bar.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.t.Person && !p.quiet && !p.lastBar.IsZero() {
		fmt.Fprintln(p.t.Err) //nolint:errcheck // only for the looks
	}
}
