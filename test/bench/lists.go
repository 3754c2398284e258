package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// lists measures how long a page of 50 tasks takes where there are many, on
// both databases. It runs the ledger's own benchmark, which knows how to make a
// million tasks in a minute.
func lists(ctx context.Context, s settings) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "github.com/beeos/beeos/internal/engine/ledger", "-run", "^$", "-bench", "Listing",
		"-benchtime", "300x", "-timeout", "20m", "-stored", fmt.Sprint(s.stored))
	text, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, text)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "| 50 of %d tasks | database | p50 | p99 |\n|---|---|---:|---:|\n", s.stored)
	rows := 0
	for line := range bytes.Lines(text) {
		name, p50, p99, ok := listing(string(line))
		if !ok {
			continue
		}
		engine, what, _ := strings.Cut(name, "/")
		fmt.Fprintf(&out, "| %s | %s | %.2f ms | %.2f ms |\n", strings.NewReplacer(",", ", ", "-", " ").Replace(what), engine, p50, p99)
		rows++
	}
	if rows == 0 {
		return "", fmt.Errorf("the benchmark measured nothing\n%s", text)
	}
	return out.String(), nil
}

// listing reads a line of the benchmark.
func listing(line string) (name string, p50, p99 float64, ok bool) {
	f := strings.Fields(line)
	if len(f) == 0 || !strings.HasPrefix(f[0], "BenchmarkListing/") {
		return "", 0, 0, false
	}
	for i := 2; i < len(f); i++ {
		switch v, err := strconv.ParseFloat(f[i-1], 64); {
		case err != nil:
		case f[i] == "p50-ms":
			p50, ok = v, true
		case f[i] == "p99-ms":
			p99 = v
		}
	}
	name = strings.TrimPrefix(f[0], "BenchmarkListing/")
	if i := strings.LastIndex(name, "-"); i > 0 { // the number of cores
		name = name[:i]
	}
	return name, p50, p99, ok
}
