package database

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/beeos/beeos"
)

// Conditions collects the WHERE clause of a listing.
type Conditions struct {
	Parts []string
	Args  []any
}

// Add appends a condition in which ? stands for the value.
func (c *Conditions) Add(condition string, value any) {
	c.Args = append(c.Args, value)
	c.Parts = append(c.Parts, strings.Replace(condition, "?", "$"+strconv.Itoa(len(c.Args)), 1))
}

// AddUnlessEmpty is Add for a value that an empty one leaves open.
func (c *Conditions) AddUnlessEmpty(condition, value string) {
	if value != "" {
		c.Add(condition, value)
	}
}

// Text appends a condition without a value.
func (c *Conditions) Text(s string) { c.Parts = append(c.Parts, s) }

// AddList appends "<column> IN (...)".
func (c *Conditions) AddList(column string, values []any) {
	c.Parts = append(c.Parts, column+" IN ("+Placeholders(len(c.Args)+1, len(values))+")")
	c.Args = append(c.Args, values...)
}

// SQL is the clause, if there are conditions.
func (c *Conditions) SQL() string {
	if len(c.Parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.Parts, " AND ")
}

// Placeholders writes n placeholders, from $first on.
func Placeholders(first, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "$%d", first+i)
	}
	return b.String()
}

// Args makes a list the arguments of a query.
func Args[T any](list []T) []any {
	args := make([]any, len(list))
	for i, v := range list {
		args[i] = v
	}
	return args
}

func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// maxName bounds what people type as a name, in bytes.
const maxName = 256

// CheckName refuses what no database or page should have to show: control
// characters, broken UTF-8, names of the wrong length.
func CheckName(what, s string, least int) error {
	if len(s) < least {
		return beeos.Errorf(beeos.InvalidParam, "the %s is empty; give one", what)
	}
	if len(s) > maxName {
		return beeos.Errorf(beeos.InvalidParam, "the %s is longer than %d bytes; shorten it", what, maxName)
	}
	if !IsPlain(s) {
		return beeos.Errorf(beeos.InvalidParam, "the %s has control characters or is not UTF-8; use printable characters", what)
	}
	return nil
}

// IsPlain reports whether s is UTF-8 without control characters, those that
// turn the reading direction included: they let a name pose as another.
func IsPlain(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, isControl) }

func isControl(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// MakePlain makes a text of somebody else's fit for a list: short, and plain.
func MakePlain(s string) string {
	s = strings.Map(func(r rune) rune {
		if isControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if len(s) > maxName {
		s = strings.ToValidUTF8(s[:maxName], "")
	}
	return s
}

// TokenHash is what the tables keep of a secret that somebody else has.
func TokenHash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
