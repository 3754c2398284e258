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
	pages, err := measurePages(ctx, s, "internal/engine/ledger", "Listing")
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "| 50 of %d tasks | database | p50 | p99 |\n|---|---|---:|---:|\n", s.stored)
	for _, p := range pages {
		engine, what, _ := strings.Cut(p.name, "/")
		fmt.Fprintf(&out, "| %s | %s | %.2f ms | %.2f ms |\n", wordsOf(what), engine, p.p50, p.p99)
	}
	return out.String(), nil
}

// wordsOf is the name of a benchmark as a table shows it.
func wordsOf(name string) string { return strings.NewReplacer(",", ", ", "-", " ").Replace(name) }

// pageTime is how long a page took, in milliseconds.
type pageTime struct {
	name     string
	p50, p99 float64
}

// measurePages runs a package's own benchmark of pages over many rows.
func measurePages(ctx context.Context, s settings, folder, benchmark string) (pages []pageTime, err error) {
	cmd := exec.CommandContext(ctx, "go", "test", "github.com/beeos/beeos/"+folder, "-run", "^$", "-bench", benchmark,
		"-benchtime", "300x", "-timeout", "60m", "-stored", fmt.Sprint(s.stored))
	text, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	for line := range bytes.Lines(text) {
		if p, ok := readPage(string(line), "Benchmark"+benchmark+"/"); ok {
			pages = append(pages, p)
		}
	}
	if len(pages) == 0 {
		return nil, fmt.Errorf("the benchmark measured nothing\n%s", text)
	}
	return pages, nil
}

// readPage reads a line of a benchmark.
func readPage(line, prefix string) (p pageTime, ok bool) {
	f := strings.Fields(line)
	if len(f) == 0 || !strings.HasPrefix(f[0], prefix) {
		return p, false
	}
	for i := 2; i < len(f); i++ {
		switch v, err := strconv.ParseFloat(f[i-1], 64); {
		case err != nil:
		case f[i] == "p50-ms":
			p.p50, ok = v, true
		case f[i] == "p99-ms":
			p.p99 = v
		}
	}
	p.name = strings.TrimPrefix(f[0], prefix)
	if i := strings.LastIndex(p.name, "-"); i > 0 { // the number of cores
		p.name = p.name[:i]
	}
	return p, ok
}
