//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/beeos/beeos/test/npm"
	"github.com/beeos/beeos/test/python"
)

// inGo is the language of the fixture that everything is run with.
const inGo = "go"

// fixtureCommand is the fixture as it is written in a language, with the sources of
// the SDK; nil = the one in Go, which the cluster builds. They are run where the
// repository is.
func fixtureCommand(ctx context.Context, tools *npm.Tools, language string) ([]string, error) {
	const folder = "test/conformance/fixture/"
	switch language {
	case inGo:
		return nil, nil
	case "python":
		requirements, err := os.ReadFile("test/pythonsdk/wheel.txt")
		if err != nil {
			return nil, err
		}
		interpreter, err := python.Install(ctx, requirements)
		if err != nil {
			return nil, err
		}
		source, err := filepath.Abs("sdk/python/src")
		return []string{"env", "PYTHONPATH=" + source, "PYTHONDONTWRITEBYTECODE=1", interpreter, folder + "fixture.py"}, err
	case "typescript":
		return []string{tools.Module(".bin/node"), folder + "fixture.mts"}, nil
	}
	return nil, fmt.Errorf("there is no fixture in %s; choose go, python or typescript", language)
}

// page is where the results are, with the fixture in Go first.
const page = "docs/reference/conformance.md"

// sectionOf and a language begin the section of another fixture.
const sectionOf = "\n## The fixture in "

// unlikeGo lists the results that are not those of the fixture in Go, as the page
// has them. A check that was never made is not a failure, and shows here.
func unlikeGo(text string, results []selection) (differences []string) {
	rows, _, _ := strings.Cut(text, sectionOf)
	for _, r := range results {
		_, row, found := strings.Cut(rows, "\n"+r.rowBegin())
		row, _, _ = strings.Cut(row, "\n")
		switch {
		case !found:
			differences = append(differences, fmt.Sprintf("%s: %s has no row of the fixture in Go; run make conformance", r.args, page))
		case r.row() != r.rowBegin()+row:
			differences = append(differences, fmt.Sprintf("%s: %s, and the fixture in Go has %s", r.args, r.row(), r.rowBegin()+row))
		}
	}
	return differences
}

// lastSection is what another command (test/tck) writes behind everything else.
const lastSection = "\n## A2A\n"

// addSection puts the results with another fixture on the page, in place of those
// that are there.
func addSection(path, language string, results []selection) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	page, title := string(text), sectionOf+language+"\n"
	begin, end := strings.Index(page, title), len(page)
	if begin < 0 {
		if begin = strings.Index(page, lastSection); begin < 0 {
			begin = len(page)
		}
		end = begin
	} else if next := strings.Index(page[begin+len(title):], "\n## "); next >= 0 {
		end = begin + len(title) + next
	}
	section := title + "\n" + table(results)
	if text := complaints(results); text != "" {
		section += "\n```\n" + text + "```\n"
	}
	return os.WriteFile(path, []byte(page[:begin]+section+page[end:]), 0o644)
}
