package notify

import (
	"fmt"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
)

// text is a letter: a message with the link to decide by, and where all that waits is.
func (m *message) text(console string) string {
	text := m.brief() + "\n"
	if m.Approval == nil {
		return text
	}
	if m.asks() && m.Approval.URL != "" {
		text += "\nSee all of it, and approve or reject:\n" + m.Approval.URL + "\n\nWhoever has this link can decide, once. Do not pass it on.\n"
	}
	return text + "\nAll that waits for you: " + strings.TrimRight(console, "/") + "/approvals\n"
}

// brief says what happened, in a chat or a letter.
func (m *message) brief() string {
	a := m.Approval
	if a == nil {
		return "This is a test. Approvals that wait for you are told here."
	}
	var b strings.Builder
	b.WriteString(m.summary() + "\n\n")
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("Agent:   %s", shown(a.Agent))
	line("Tool:    %s", shown(a.ToolName()))
	line("Caller:  %s", shown(a.CallerName))
	switch {
	case m.asks():
		line("Until:   %s", clock(a.ExpiresAt))
		if a.Needed > 1 {
			line("Needs:   %d people to say yes", a.Needed)
		}
		line("\nIt would be called with:\n\n%s", a.ArgumentsText)
		if a.Shortened {
			line("\nThis is not all of it. Open the link to see the rest, and to decide.")
		}
	case a.Status == approvals.Approved, a.Status == approvals.Rejected:
		line("\n%s %s at %s.", strings.ToUpper(string(a.Status[:1]))+string(a.Status[1:]), m.decider(), clock(a.DecidedAt))
		if a.Reason != "" {
			line("Reason: %s", shown(a.Reason))
		}
	case a.Status == approvals.Expired:
		line("\nNobody decided in time, so it was rejected.")
	default:
		line("\nNobody need decide any more: %s.", shown(a.Reason))
	}
	return strings.TrimRight(b.String(), "\n")
}

// decider says who decided.
func (m *message) decider() string {
	if m.Approval.DecidedBy == "link" {
		return "by whoever had a link"
	}
	if name := m.Approval.DeciderName; name != "" {
		return "by " + shown(name)
	}
	return "by somebody"
}

// shown is text of others in a message: on one line, with nothing hidden in it.
func shown(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(beeos.Visible(beeos.Shorten(text, maxName)))
}

func clock(at time.Time) string { return at.UTC().Format("2 Jan 2006 15:04:05 UTC") }
