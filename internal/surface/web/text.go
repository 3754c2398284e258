package web

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// clean makes text that a stranger wrote fit to stand in a sentence of ours:
// one line, of at most so many characters, in which whatever has no shape of
// its own (control characters, marks that turn the direction of writing, joins
// of no width) shows up as one visible sign.
func clean(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	var b strings.Builder
	n, space := 0, false
	for _, r := range s {
		if unicode.IsSpace(r) {
			space = b.Len() > 0
			continue
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) || !unicode.IsGraphic(r) {
			r = '\uFFFD'
		}
		if space {
			b.WriteByte(' ')
			n++
			space = false
		}
		if n >= most-1 {
			b.WriteRune('…')
			break
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// ago says how long it is since t, coarsely: a page that refreshes itself
// should change when something happened, not with every second.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	switch d := now.Sub(t); {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return plural(int(d.Hours()), "hour") + " ago"
	case d < 30*24*time.Hour:
		return plural(int(d.Hours()/24), "day") + " ago"
	}
	return t.Format("2 Jan 2006")
}

// until says when t will be.
func until(now, t time.Time) string {
	switch d := t.Sub(now); {
	case t.IsZero():
		return "never"
	case d <= 0:
		return "expired"
	case d < time.Hour:
		return fmt.Sprintf("in %d min", int(d.Minutes())+1)
	case d < 48*time.Hour:
		return "in " + plural(int(d.Hours()+.5), "hour")
	case d < 60*24*time.Hour:
		return "in " + plural(int(d.Hours()/24+.5), "day")
	}
	return t.Format("2 Jan 2006")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// took is a duration in the two figures that matter.
func took(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d < time.Millisecond:
		return "<1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// piece is a stretch of text; an odd one stands for what cannot be seen.
type piece struct {
	Text string
	Odd  bool
}

// pieces finds the signs that beeos.Visible has put into a text.
func pieces(s string) (list []piece) {
	for s != "" {
		at := odd.FindStringIndex(s)
		if at == nil {
			return append(list, piece{Text: s})
		}
		if at[0] > 0 {
			list = append(list, piece{Text: s[:at[0]]})
		}
		list = append(list, piece{Text: s[at[0]:at[1]], Odd: true})
		s = s[at[1]:]
	}
	return list
}

var odd = regexp.MustCompile(`⟨U\+[0-9A-F]{4,6}⟩`)
