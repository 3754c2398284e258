package page

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Ago says how long ago t was, coarsely: a page that refreshes itself should
// change when something happened, not every second.
func Ago(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	switch d := now.Sub(t); {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return Plural(int(d.Hours()), "hour") + " ago"
	case d < 30*24*time.Hour:
		return Plural(int(d.Hours()/24), "day") + " ago"
	}
	return t.Format("2 Jan 2006")
}

// Until says when t will be.
func Until(now, t time.Time) string {
	switch d := t.Sub(now); {
	case t.IsZero():
		return "never"
	case d <= 0:
		return "expired"
	case d < time.Hour:
		return fmt.Sprintf("in %d min", int(d.Minutes())+1)
	case d < 48*time.Hour:
		return "in " + Plural(int(d.Hours()+.5), "hour")
	case d < 60*24*time.Hour:
		return "in " + Plural(int(d.Hours()/24+.5), "day")
	}
	return t.Format("2 Jan 2006")
}

// Plural counts things, as in "3 agents".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// FormatDuration shows a duration in the two figures that matter.
func FormatDuration(d time.Duration) string {
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

// Thousands writes a number as people read it.
func Thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// FormatMoney shows millionths of a US dollar; small sums with more figures.
func FormatMoney(micros int64) string {
	usd := float64(micros) / 1e6
	if usd > 0 && usd < 0.01 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// Sentence turns a message of ours into a sentence: errors begin with a small
// letter and have no full stop.
func Sentence(s string) string {
	if s == "" {
		return ""
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}
