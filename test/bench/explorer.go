package main

import (
	"context"
	"fmt"
	"strings"
)

// explorer measures how long a page of 50 calls takes where there are many, by each
// filter that the explorer of calls has, on both databases. It runs the benchmark
// of the record of calls; a line of the table is the slowest of those who ask.
func explorer(ctx context.Context, s settings) (string, error) {
	pages, err := measurePages(ctx, s, "internal/store/calls", "Find")
	if err != nil {
		return "", err
	}
	var names []string
	slowest := map[string]map[string]pageTime{} // by name and engine
	for _, p := range pages {
		engine, rest, _ := strings.Cut(p.name, "/")
		who, what, _ := strings.Cut(rest, "/")
		if strings.HasPrefix(who, "agent") {
			what = "one agent," + what
		}
		if slowest[what] == nil {
			slowest[what] = map[string]pageTime{}
			names = append(names, what)
		}
		was := slowest[what][engine]
		slowest[what][engine] = pageTime{p50: max(was.p50, p.p50), p99: max(was.p99, p.p99)}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "| 50 of %d calls | SQLite p50 | p99 | PostgreSQL p50 | p99 |\n|---|---:|---:|---:|---:|\n", s.stored)
	for _, name := range names {
		lite, postgres := slowest[name]["sqlite"], slowest[name]["postgres"]
		fmt.Fprintf(&out, "| %s | %.1f ms | %.1f ms | %.1f ms | %.1f ms |\n", wordsOf(name), lite.p50, lite.p99, postgres.p50, postgres.p99)
	}
	return out.String(), nil
}
