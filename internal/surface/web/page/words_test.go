package page

import (
	"testing"
	"time"
)

func TestTimesInWords(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		0: "just now", 59 * time.Second: "just now", 90 * time.Second: "1 min ago", time.Hour: "1 hour ago",
		47 * time.Hour: "1 day ago", 40 * 24 * time.Hour: "6 Oct 2026",
	} {
		if got := Ago(now, now.Add(-d)); got != want {
			t.Errorf("%s ago is %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		-time.Second: "expired", 30 * time.Minute: "in 31 min", 59*time.Minute + 59*time.Second: "in 60 min", 2 * time.Hour: "in 2 hours",
		7*24*time.Hour - time.Minute: "in 7 days", 100 * 24 * time.Hour: "23 Feb 2027",
	} {
		if got := Until(now, now.Add(d)); got != want {
			t.Errorf("in %s is %q, want %q", d, got, want)
		}
	}
	if Ago(now, time.Time{}) != "never" || Until(now, time.Time{}) != "never" {
		t.Error("no time at all is never")
	}
	for d, want := range map[time.Duration]string{0: "", 200 * time.Microsecond: "<1 ms", 41 * time.Millisecond: "41 ms", 2500 * time.Millisecond: "2.5 s", 61 * time.Second: "1m1s"} {
		if got := FormatDuration(d); got != want {
			t.Errorf("%s took %q, want %q", d, got, want)
		}
	}
}

func TestNumbersInWords(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := Thousands(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	for micros, want := range map[int64]string{0: "$0.00", 1234: "$0.0012", 12_345_678: "$12.35"} {
		if got := FormatMoney(micros); got != want {
			t.Errorf("%d is %q, want %q", micros, got, want)
		}
	}
}
