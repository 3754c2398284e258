package web

import (
	"regexp"
	"slices"
	"strings"
)

// change is a stretch of two texts side by side: one line of each, or lines
// that are the same and left out.
type change struct {
	Was, Is []stroke
	Same    bool
	Skipped int // lines of both that are the same and not shown
}

// stroke is a piece of a line; Mark says that the other side does not have it.
type stroke struct {
	piece
	Mark bool
}

// around is how many unchanged lines stand beside a changed one.
const around = 2

// mostCells bounds the work of one comparison. What is longer is shown as
// replaced: still whole, only less finely marked.
const mostCells = 1 << 20

// difference puts two texts side by side, by lines and within lines by words.
func difference(was, is string) (list []change) {
	before, after := strings.Split(was, "\n"), strings.Split(is, "\n")
	var removed, added []string
	flush := func() {
		for i := range max(len(removed), len(added)) {
			var c change
			switch {
			case i < len(removed) && i < len(added):
				c.Was, c.Is = byWords(removed[i], added[i])
			case i < len(removed):
				c.Was = strokes(removed[i], true)
			default:
				c.Is = strokes(added[i], true)
			}
			list = append(list, c)
		}
		removed, added = nil, nil
	}
	for _, p := range align(before, after) {
		switch {
		case p.was >= 0 && p.is >= 0:
			flush()
			same := strokes(before[p.was], false)
			list = append(list, change{Was: same, Is: same, Same: true})
		case p.was >= 0:
			removed = append(removed, before[p.was])
		default:
			added = append(added, after[p.is])
		}
	}
	flush()
	return fold(list)
}

// fold leaves out what is far from any change.
func fold(list []change) (short []change) {
	for i, c := range list {
		near := slices.ContainsFunc(list[max(0, i-around):min(len(list), i+around+1)], func(c change) bool { return !c.Same })
		switch last := len(short) - 1; {
		case near:
			short = append(short, c)
		case last >= 0 && short[last].Skipped > 0:
			short[last].Skipped++
		default:
			short = append(short, change{Same: true, Skipped: 1})
		}
	}
	return short
}

var wordForm = regexp.MustCompile(`[\pL\pN_]+|\s+|.`)

// byWords marks what differs between two lines.
func byWords(was, is string) (left, right []stroke) {
	before, after := wordForm.FindAllString(was, -1), wordForm.FindAllString(is, -1)
	for _, p := range align(before, after) {
		switch {
		case p.was >= 0 && p.is >= 0:
			left, right = extend(left, before[p.was], false), extend(right, after[p.is], false)
		case p.was >= 0:
			left = extend(left, before[p.was], true)
		default:
			right = extend(right, after[p.is], true)
		}
	}
	return split(left), split(right)
}

func strokes(line string, mark bool) []stroke { return split(extend(nil, line, mark)) }

// extend adds text to a line, to its last stroke where that fits.
func extend(line []stroke, text string, mark bool) []stroke {
	if n := len(line) - 1; n >= 0 && line[n].Mark == mark {
		line[n].Text += text
		return line
	}
	return append(line, stroke{piece{Text: text}, mark})
}

// split finds what cannot be seen in a line.
func split(line []stroke) (out []stroke) {
	for _, st := range line {
		for _, p := range pieces(st.Text) {
			out = append(out, stroke{p, st.Mark})
		}
	}
	return out
}

// pair is a place in two lists; -1 = only the other has it.
type pair struct{ was, is int }

// align finds a longest common subsequence and returns all of both lists in
// order: what is the same together, what was before what is.
func align(a, b []string) (pairs []pair) {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		pairs = append(pairs, pair{head, head})
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	pairs = append(pairs, middle(a[head:len(a)-tail], b[head:len(b)-tail], head)...)
	for i := tail; i > 0; i-- {
		pairs = append(pairs, pair{len(a) - i, len(b) - i})
	}
	return pairs
}

// middle aligns what has no common beginning and end.
func middle(a, b []string, offset int) (pairs []pair) {
	// longest[i][j] is the length of what a[i:] and b[j:] have in common.
	longest := make([][]int, len(a)+1)
	if len(a)*len(b) <= mostCells {
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
