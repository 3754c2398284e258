package terminal

import (
	"fmt"
	"strings"
	"time"
)

const (
	barWidth = 30
	barEvery = 100 * time.Millisecond
)

// Bar tells a person how far something long has come. Where nobody watches it says
// nothing.
type Bar struct {
	t    *Terminal
	what string
	last time.Time
}

// StartBar returns a bar that shows itself once there is something to tell.
func (t *Terminal) StartBar(what string) *Bar { return &Bar{t: t, what: what} }

// Show draws the bar: so many bytes of all are done.
func (b *Bar) Show(done, all int64) {
	now := time.Now()
	if !b.t.Person || all <= 0 || done < all && now.Sub(b.last) < barEvery {
		return
	}
	b.last = now
	filled := int(barWidth * done / all)
	fmt.Fprintf(b.t.Err, "\r\x1b[K[%s%s] %s %s of %s", strings.Repeat("=", filled), strings.Repeat(" ", barWidth-filled), b.what, Bytes(done), Bytes(all)) //nolint:errcheck // only for the looks
}

// Stop leaves the line of the bar.
func (b *Bar) Stop() {
	if !b.last.IsZero() {
		fmt.Fprintln(b.t.Err) //nolint:errcheck // only for the looks
	}
}

// Bytes writes a number of bytes as people say it.
func Bytes(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	case n < 10_000_000_000:
		return fmt.Sprintf("%d MB", n/1_000_000)
	}
	return fmt.Sprintf("%d GB", n/1_000_000_000)
}
