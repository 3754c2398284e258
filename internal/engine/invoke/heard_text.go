package invoke

import "github.com/beeos/beeos"

// told is how much of an attempt's text a caller on the line has. Such a caller
// takes pieces alone, and what it has cannot be taken back.
type told struct {
	attempt int
	bytes   int
}

// goesOn makes a delta that brings all the text so far the piece that the caller
// lacks, and reports whether there is something to say.
func (t *told) goesOn(ev *beeos.Event) bool {
	if ev.SoFar {
		t.attempt = ev.Attempt // of the same process: only that one knows what it had said
		ev.Text, ev.SoFar = ev.Text[min(t.bytes, len(ev.Text)):], false
		t.bytes += len(ev.Text)
		return ev.Text != ""
	}
	if ev.Attempt > t.attempt {
		*t = told{attempt: ev.Attempt}
	}
	t.bytes += len(ev.Text)
	return true
}
