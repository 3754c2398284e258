//go:build unix

package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// line is a campaign in one line.
func (r *result) line() string {
	return fmt.Sprintf("%s: %d operations (%s), %d faults in %s: %d lost, %d doubled, %d hung, %d otherwise wrong; longest silence %s, healed within %s (half of them %s)",
		r.campaign.name, sum(r.Ops), counts(r.Outcomes), sum(r.Faults), r.took.Round(time.Second), len(r.Lost), len(r.Doubled), len(r.Hung), len(r.Wrong),
		short(r.LongestSilence), short(healedWithin(all(r.Heal), 100)), short(healedWithin(all(r.Heal), 50)))
}

// all is how long everything took to heal.
func all(heal map[string][]time.Duration) (list []time.Duration) {
	for _, some := range heal {
		list = append(list, some...)
	}
	return list
}

func sum[K comparable](m map[K]int) (n int) {
	for _, c := range m {
		n += c
	}
	return n
}

// counts is a list of what there was, the most first.
func counts[K cmp.Ordered](m map[K]int) string {
	keys := slices.SortedFunc(maps.Keys(m), func(a, b K) int { return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b)) })
	list := make([]string, len(keys))
	for i, k := range keys {
		list[i] = fmt.Sprintf("%d %v", m[k], k)
	}
	return strings.Join(list, ", ")
}

func short(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

// healedWithin is the time within which so many of a hundred faults had healed.
func healedWithin(heal []time.Duration, percent int) time.Duration {
	if len(heal) == 0 {
		return 0
	}
	heal = slices.Sorted(slices.Values(heal))
	return heal[(len(heal)*percent-1)/100]
}

const (
	reportBegins = "<!-- chaos -->\n"
	reportEnds   = "<!-- /chaos -->"
)

// writeReport puts the figures between the marks of a document.
func writeReport(path string, results []*result, left []string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok1 := strings.Cut(string(text), reportBegins)
	_, after, ok2 := strings.Cut(rest, reportEnds)
	if !ok1 || !ok2 {
		return fmt.Errorf("%s has no %s and %s to write between", path, strings.TrimSpace(reportBegins), reportEnds)
	}
	return os.WriteFile(path, []byte(before+reportBegins+table(results, left)+reportEnds+after), 0o644)
}

func table(results []*result, left []string) string {
	var b strings.Builder
	b.WriteString("\n| | | operations | faults | lost | doubled | hung | otherwise wrong | longest silence | healed, half | all |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	ops, outcomes := map[string]int{}, map[string]int{}
	for _, r := range results {
		fmt.Fprintf(&b, "| `%s` | %s; seed %d, %s | %d | %d | %d | %d | %d | %d | %s | %s | %s |\n", r.campaign.name, r.campaign.about, r.seed, r.took.Round(time.Minute),
			sum(r.Ops), sum(r.Faults), len(r.Lost), len(r.Doubled), len(r.Hung), len(r.Wrong), short(r.LongestSilence), short(healedWithin(all(r.Heal), 50)), short(healedWithin(all(r.Heal), 100)))
		for k, n := range r.Ops {
			ops[string(k)] += n
		}
		for k, n := range r.Outcomes {
			outcomes[string(k)] += n
		}
	}
	fmt.Fprintf(&b, "\nOperations: %s. How they ended for whoever asked: %s.\n\n", counts(ops), counts(outcomes))
	b.WriteString(faultTable(results))
	if len(left) > 0 {
		fmt.Fprintf(&b, "Left out: %s.\n\n", strings.Join(left, "; "))
	}
	return b.String()
}

// faultTable lists what was broken how often in which campaign, and how soon it was
// healed.
func faultTable(results []*result) string {
	total, heal := map[string]int{}, map[string][]time.Duration{}
	header, rule := "| fault |", "|---|"
	for _, r := range results {
		header, rule = header+fmt.Sprintf(" `%s` |", r.campaign.name), rule+"---:|"
		for name, n := range r.Faults {
			total[name] += n
			heal[name] = append(heal[name], r.Heal[name]...)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s healed, half | all |\n%s---:|---:|\n", header, rule)
	for _, name := range slices.Sorted(maps.Keys(total)) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, r := range results {
			fmt.Fprintf(&b, " %d |", r.Faults[name])
		}
		fmt.Fprintf(&b, " %s | %s |\n", short(healedWithin(heal[name], 50)), short(healedWithin(heal[name], 100)))
	}
	b.WriteString("\n")
	return b.String()
}
