package safetext

import "github.com/beeos/beeos/internal/engine/sight/compare"

// Change is a stretch of two texts side by side: one line of each, or a number
// of equal lines that are left out.
type Change struct {
	Was, Is []Span
	Same    bool
	Skipped int // equal lines that are not shown
}

// Span is a piece of a line; Mark says that the other side does not have it.
type Span struct {
	Piece
	Mark bool
}

// Compare puts two texts side by side, by lines and within lines by words, with
// signs for characters that cannot be seen.
func Compare(was, is string) (list []Change) {
	for _, c := range compare.Texts(was, is) {
		list = append(list, Change{Was: splitPieces(c.Was), Is: splitPieces(c.Is), Same: c.Same, Skipped: c.Skipped})
	}
	return list
}

// splitPieces separates the signs for invisible characters in a line.
func splitPieces(line []compare.Span) (out []Span) {
	for _, st := range line {
		for _, p := range Pieces(st.Text) {
			out = append(out, Span{p, st.Mark})
		}
	}
	return out
}
