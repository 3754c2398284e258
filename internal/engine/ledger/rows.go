package ledger

import (
	"math/bits"
	"strconv"
	"strings"
	"sync"
)

// maxRows bounds one statement. Rows are sent in chunks of a few sizes (chunkSize),
// so that only so many texts per statement are ever prepared.
const maxRows = 64

// statement is one text over many rows: head, then row (with ? for each
// value) once per row, then tail.
type statement struct {
	head, row, tail  string
	sqlite, postgres func() *[maxRows + 1]string // by the number of rows; made when first used
}

func newStatement(head, row, tail string) *statement {
	s := &statement{head: head, row: row, tail: tail}
	s.postgres = s.texts(func(rows int) string { return s.from(rows, 1) })
	// SQLite looks the name of every numbered parameter up in a list, which is slow
	// for hundreds; nameless ones it just counts.
	s.sqlite = s.texts(func(rows int) string { return strings.Repeat(s.row+",", rows-1) + s.row })
	return s
}

// texts returns the text for every size of a chunk.
func (s *statement) texts(middle func(rows int) string) func() *[maxRows + 1]string {
	return sync.OnceValue(func() *[maxRows + 1]string {
		var texts [maxRows + 1]string
		for rows := 1; rows <= maxRows; rows++ {
			if rows == chunkSize(rows) {
				texts[rows] = s.head + middle(rows) + s.tail
			}
		}
		return &texts
	})
}

// chunkSize is how many of so many rows the next chunk has: the number with all but
// its first three binary digits set to zero. Nearly everything is then one chunk or
// two, for the price of twenty sizes.
func chunkSize(rows int) int {
	rows = min(rows, maxRows)
	rest := max(0, bits.Len(uint(rows))-3)
	return rows >> rest << rest
}

// columns is how many values a row has.
func (s *statement) columns() int { return strings.Count(s.row, "?") }

// listOf is for the values of an IN.
var listOf = newStatement(``, `?`, ``)

// from is the rows alone, their placeholders counted from first.
func (s *statement) from(rows, first int) string {
	var b strings.Builder
	n := first - 1
	for i := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		for _, c := range []byte(s.row) {
			if c != '?' {
				b.WriteByte(c)
				continue
			}
			n++
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(n))
		}
	}
	return b.String()
}

// chunks calls f with the text and the values of each chunk.
func (s *statement) chunks(postgres bool, values []any, f func(text string, values []any) error) error {
	cols := s.columns()
	texts := s.sqlite
	if postgres {
		texts = s.postgres
	}
	for len(values) > 0 {
		rows := chunkSize(len(values) / cols)
		n := cols * rows
		if err := f(texts()[rows], values[:n]); err != nil {
			return err
		}
		values = values[n:]
	}
	return nil
}
