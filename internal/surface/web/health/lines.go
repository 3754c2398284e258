package health

import (
	"slices"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// line is something that an agent logged.
type line struct {
	At            time.Time
	Call          string
	Level, Logger string
	Mood          string
	Text          []safetext.Piece
}

// maxShown is how many lines the page shows.
const maxShown = 200

// linesOf puts together what an agent logged on all servers, the newest first.
func linesOf(nodes []bus.Health) []line {
	var all []line
	for _, node := range nodes {
		for _, l := range node.Lines {
			all = append(all, line{
				At: l.At, Call: l.Turn, Level: safetext.Line(l.Level, 20), Logger: safetext.Line(l.Logger, 60), Mood: mood(l.Level), Text: safetext.Pieces(beeos.Visible(l.Text)),
			})
		}
	}
	slices.SortStableFunc(all, func(a, b line) int { return b.At.Compare(a.At) })
	return all[:min(len(all), maxShown)]
}

// mood is the colour of a level, in the words of RFC 5424.
func mood(level string) string {
	switch level {
	case "error", "critical", "alert", "emergency":
		return "bad"
	case "warning":
		return "busy"
	}
	return ""
}
