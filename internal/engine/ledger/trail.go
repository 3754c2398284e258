package ledger

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/calls"
)

// A trail is how a request came to its end: what the rows of a request do not
// say by themselves, in words that are appended where a row changes anyway.
// Times are microseconds since the request was stored.
//
//	c2 5000123;                    attempt 2 began then
//	w2 5000123;                    the same, and its instance never stopped to work on it
//	r1 4000123 gone NODE INSTANCE; attempt 1 was over without a reply, and why
//	e2 5000400 5000900 - NODE INSTANCE;
//	                               attempt 2 brought the reply: when the instance was given
//	                               it, showed the first sign of work, said the first words
//	t TRACE;                       the trace that the request is part of; only of one that has ended
//
// Attempt 1 has no c where it was handed out with the request.

// Attempt is one instance's work on a request.
type Attempt struct {
	Number    int              // 0 = whoever brings the reply does not know; then it is the last one
	Node      string           // that the instance was connected to; empty = not known
	Instance  string           // not known of one whose node died
	Began     time.Time        // when it was to be handed out
	Given     time.Time        // when the instance was given it; zero = not known
	Started   time.Time        // the first sign of work; zero = there was none
	FirstText time.Time        // the first words of the answer; zero = there were none
	Ended     time.Time        // zero = it goes on, or ended with the reply
	Why       beeos.AttemptEnd // it ended without a reply
	Resumed   bool             // the instance of the attempt before went on with it
	Steps     []byte           // JSON: what it told of its work, with the reply; not read back here
	Usage     []calls.Usage    // what that took; not read back here
}

// maxTrail bounds a trail: beyond, nothing is appended.
const maxTrail = 1000

// appendTrail is SQL that appends to a delivery's trail; what is one more
// expression of text.
func appendTrail(what string) string {
	return `trail = CASE WHEN length(trail) < ` + strconv.Itoa(maxTrail) + ` THEN trail || ` + what + ` ELSE trail END`
}

// line is what the attempt that brought the reply adds to the trail.
func (a *Attempt) line(base int64) string {
	if a.Number == 0 {
		return ""
	}
	line := make([]byte, 0, 128)
	line = strconv.AppendInt(append(line, 'e'), int64(a.Number), 10)
	for _, t := range []time.Time{a.Given, a.Started, a.FirstText} {
		if line = append(line, ' '); t.IsZero() {
			line = append(line, '-')
		} else {
			line = strconv.AppendInt(line, max(0, t.UnixMicro()-base), 10)
		}
	}
	for _, name := range []string{a.Node, a.Instance} {
		line = append(append(line, ' '), trailWord(name)...)
	}
	return string(append(line, ';'))
}

// trailWord is a name as it stands in a trail.
func trailWord(s string) string {
	if s == "" || strings.ContainsAny(s, " ;") {
		return "-"
	}
	return s
}

// lastEnd is why the last attempt that ended without a reply did.
func lastEnd(trail string) string {
	for _, a := range slices.Backward(parseTrail(trail, time.Time{})) {
		if a.Why != "" {
			return string(a.Why)
		}
	}
	return Unknown
}

// parseTrail reads the attempts off a trail. began is when the request was stored.
// What it does not know it leaves out.
func parseTrail(trail string, began time.Time) []Attempt {
	var list []Attempt
	at := func(n int) *Attempt {
		for i := range list {
			if list[i].Number == n {
				return &list[i]
			}
		}
		list = append(list, Attempt{Number: n, Began: began})
		return &list[len(list)-1]
	}
	for word := range strings.SplitSeq(trail, ";") {
		f := strings.Fields(word)
		if len(f) < 2 || len(f[0]) < 2 {
			continue
		}
		n, err := strconv.Atoi(f[0][1:])
		if err != nil {
			continue
		}
		moment := func(i int) time.Time {
			if i >= len(f) {
				return time.Time{}
			}
			us, err := strconv.ParseInt(f[i], 10, 64)
			if err != nil {
				return time.Time{}
			}
			return began.Add(time.Duration(max(0, us)) * time.Microsecond) // clocks of nodes differ by a little
		}
		name := func(i int) string {
			if i >= len(f) || f[i] == "-" {
				return ""
			}
			return f[i]
		}
		a := at(n)
		switch f[0][0] {
		case 'c', 'w':
			*a = Attempt{Number: n, Began: moment(1), Resumed: f[0][0] == 'w'}
		case 'r':
			a.Ended, a.Why, a.Node, a.Instance = moment(1), beeos.AttemptEnd(name(2)), name(3), name(4)
		case 'e':
			a.Given, a.Started, a.FirstText, a.Node, a.Instance = moment(1), moment(2), moment(3), name(4), name(5)
		}
	}
	return list
}
