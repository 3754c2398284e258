package program

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// longestLine bounds what a program may write without a line break.
const longestLine = 4 << 20

// Transcript is the lines that a process has written so far.
type Transcript struct {
	mu    sync.Mutex
	lines []string
	ended bool
	grown chan struct{} // closed and replaced when there is more
}

func newTranscript() *Transcript { return &Transcript{grown: make(chan struct{})} }

func (tr *Transcript) fill(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		tr.add(lines.Text(), false)
	}
	tr.add("", true)
}

func (tr *Transcript) add(line string, end bool) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.ended = end; !end {
		tr.lines = append(tr.lines, line)
	}
	close(tr.grown)
	tr.grown = make(chan struct{})
}

// All returns the lines so far.
func (tr *Transcript) All() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.lines[:len(tr.lines):len(tr.lines)]
}

// Await returns the first line, past or future, that match accepts.
func (tr *Transcript) Await(ctx context.Context, match func(string) bool) (string, error) {
	for next := 0; ; {
		tr.mu.Lock()
		lines, ended, grown := tr.lines, tr.ended, tr.grown
		tr.mu.Unlock()
		for ; next < len(lines); next++ {
			if match(lines[next]) {
				return lines[next], nil
			}
		}
		if ended {
			return "", errors.New("it ended first")
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return "", fmt.Errorf("it did not come: %w", ctx.Err())
		}
	}
}
