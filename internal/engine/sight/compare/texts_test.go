package compare

import (
	"strings"
	"testing"
)

// TestComparisonSharesItsWork: many long lines together get no more work than one.
func TestComparisonSharesItsWork(t *testing.T) {
	line := func(word string) string { return strings.Repeat(word+" ", 500) }
	work := &comparison{cells: maxCells}
	for range 64 {
		work.compareWords(line("a"), line("b"))
	}
	if work.cells < 0 || work.cells == maxCells {
		t.Errorf("%d cells are left", work.cells)
	}
	left, right := work.compareWords(line("a"), line("b"))
	if len(left) != 2 || len(right) != 2 || !left[0].Mark || right[0].Text+right[1].Text != line("b") {
		t.Errorf("what is compared last is not whole: %d, %d", len(left), len(right))
	}
}
