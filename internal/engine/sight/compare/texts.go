package compare

import (
	"regexp"
	"slices"
	"strings"
)

// Change is a stretch of two texts side by side: one line of each, or a number
// of equal lines that are left out.
type Change struct {
	Was, Is []Span
	Same    bool
	Skipped int // equal lines that are not shown
}

// Span is a piece of a line; Mark says that the other side does not have it.
type Span struct {
	Text string
	Mark bool
}

// contextLines is how many unchanged lines stand beside a changed one.
const contextLines = 2

// maxCells bounds the work of one comparison, its lines and their words together.
// What goes beyond is shown as replaced: still whole, only marked less finely.
const maxCells = 1 << 20

// comparison is two texts being compared, and the cells that are left for it.
type comparison struct{ cells int }

// Texts puts two texts side by side, by lines and within lines by words.
func Texts(was, is string) (list []Change) {
	before, after := strings.Split(was, "\n"), strings.Split(is, "\n")
	work := &comparison{cells: maxCells}
	var removed, added []string
	flush := func() {
		for i := range max(len(removed), len(added)) {
			var c Change
			switch {
			case i < len(removed) && i < len(added):
				c.Was, c.Is = work.compareWords(removed[i], added[i])
			case i < len(removed):
				c.Was = lineSpans(removed[i], true)
			default:
				c.Is = lineSpans(added[i], true)
			}
			list = append(list, c)
		}
		removed, added = nil, nil
	}
	for _, p := range work.align(before, after) {
		switch {
		case p.was >= 0 && p.is >= 0:
			flush()
			same := lineSpans(before[p.was], false)
			list = append(list, Change{Was: same, Is: same, Same: true})
		case p.was >= 0:
			removed = append(removed, before[p.was])
		default:
			added = append(added, after[p.is])
		}
	}
	flush()
	return dropUnchanged(list)
}

// dropUnchanged leaves out the lines that are far from any change.
func dropUnchanged(list []Change) (short []Change) {
	for i, c := range list {
		near := slices.ContainsFunc(list[max(0, i-contextLines):min(len(list), i+contextLines+1)], func(c Change) bool { return !c.Same })
		switch last := len(short) - 1; {
		case near:
			short = append(short, c)
		case last >= 0 && short[last].Skipped > 0:
			short[last].Skipped++
		default:
			short = append(short, Change{Same: true, Skipped: 1})
		}
	}
	return short
}

var wordPattern = regexp.MustCompile(`[\pL\pN_]+|\s+|.`)

// compareWords marks what differs between two lines.
func (c *comparison) compareWords(was, is string) ([]Span, []Span) {
	before, after := wordPattern.FindAllString(was, -1), wordPattern.FindAllString(is, -1)
	var left, right markedLine
	for _, p := range c.align(before, after) {
		switch {
		case p.was >= 0 && p.is >= 0:
			left.add(before[p.was], false)
			right.add(after[p.is], false)
		case p.was >= 0:
			left.add(before[p.was], true)
		default:
			right.add(after[p.is], true)
		}
	}
	return left.spans(), right.spans()
}

func lineSpans(line string, mark bool) []Span { return []Span{{line, mark}} }

// markedLine is a line that is put together from words.
type markedLine struct {
	done []Span
	text strings.Builder // of the last span
	mark bool
}

// add adds text to a line, to its last span where that fits.
func (l *markedLine) add(text string, mark bool) {
	if mark != l.mark {
		l.endSpan()
	}
	l.mark = mark
	l.text.WriteString(text)
}

func (l *markedLine) endSpan() {
	if l.text.Len() > 0 {
		l.done = append(l.done, Span{l.text.String(), l.mark})
		l.text.Reset()
	}
}

func (l *markedLine) spans() []Span {
	l.endSpan()
	return l.done
}

// pair is a place in two lists; -1 = only the other has it.
type pair struct{ was, is int }

// align finds a longest common subsequence and returns all of both lists in
// order: equal elements together, old ones before new ones.
func (c *comparison) align(a, b []string) (pairs []pair) {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		pairs = append(pairs, pair{head, head})
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	pairs = append(pairs, c.alignMiddle(a[head:len(a)-tail], b[head:len(b)-tail], head)...)
	for i := tail; i > 0; i-- {
		pairs = append(pairs, pair{len(a) - i, len(b) - i})
	}
	return pairs
}

// alignMiddle aligns lists that have no common beginning or end.
func (c *comparison) alignMiddle(a, b []string, offset int) (pairs []pair) {
	// longest[i][j] is the length of what a[i:] and b[j:] have in common.
	longest := make([][]int, len(a)+1)
	if cells := len(a) * len(b); cells <= c.cells {
		c.cells -= cells
		for i := range longest {
			longest[i] = make([]int, len(b)+1)
		}
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				if a[i] == b[j] {
					longest[i][j] = longest[i+1][j+1] + 1
				} else {
					longest[i][j] = max(longest[i+1][j], longest[i][j+1])
				}
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case longest[0] != nil && i < len(a) && j < len(b) && a[i] == b[j]:
			pairs = append(pairs, pair{offset + i, offset + j})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && (longest[0] == nil || longest[i+1][j] >= longest[i][j+1]):
			pairs = append(pairs, pair{offset + i, -1})
			i++
		default:
			pairs = append(pairs, pair{-1, offset + j})
			j++
		}
	}
	return pairs
}
