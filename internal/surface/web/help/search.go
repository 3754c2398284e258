package help

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/beeos/beeos/internal/surface/web/safetext"
)

const (
	maxResults = 30
	maxWords   = 8 // of a question
	aroundHit  = 90
)

// index finds sections by their words.
type index struct {
	sections []place
	words    []string         // sorted, to find those that begin like a word
	hits     map[string][]hit // by word, in the order of sections
	average  float64          // length of a section
}

// place is a section and the page that it is on.
type place struct {
	page    *document
	section section
	length  float64
}

// hit is how often a section has a word; in a heading it counts more.
type hit struct {
	section int
	weight  float64
}

const (
	inTitle   = 6 // of the page, for its first section
	inHeading = 4
	likeWord  = .4 // a word that only begins like the one asked for
	ofHistory = .5 // decisions are read after everything else
)

func newIndex(l *library) *index {
	x := &index{hits: map[string][]hit{}}
	for _, p := range l.parts {
		for _, d := range p.Pages {
			for i, s := range d.Sections {
				heading := float64(inHeading)
				if i == 0 {
					heading = inTitle
				}
				x.add(d, s, heading)
			}
		}
	}
	for word := range x.hits {
		x.words = append(x.words, word)
	}
	slices.Sort(x.words)
	for _, p := range x.sections {
		x.average += p.length / float64(len(x.sections))
	}
	return x
}

func (x *index) add(d *document, s section, heading float64) {
	weights := map[string]float64{}
	length := 0.
	for _, word := range wordsOf(s.Text) {
		weights[word]++
		length++
	}
	for _, word := range wordsOf(s.Heading) {
		weights[word] += heading
	}
	for word, weight := range weights {
		x.hits[word] = append(x.hits[word], hit{len(x.sections), weight})
	}
	x.sections = append(x.sections, place{d, s, length})
}

// wordsOf returns the words of a text in the form that they are looked up by.
// BEEOS_CALL_TIMEOUT is a word and three.
func wordsOf(text string) (words []string) {
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	}) {
		if word = strings.Trim(word, "_"); word == "" || len(word) > 60 {
			continue
		}
		words = append(words, singular(word))
		if parts := strings.Split(word, "_"); len(parts) > 1 {
			for _, part := range parts {
				words = append(words, singular(part))
			}
		}
	}
	return words
}

// singular makes one word of webhook and webhooks.
func singular(word string) string {
	if len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") {
		return strings.TrimSuffix(word, "s")
	}
	return word
}

// result is a section that answers a question.
type result struct {
	Page, Part, Heading, URL string
	Snippet                  []piece
}

// piece is a part of a snippet; what was asked for is marked.
type piece struct {
	Text string
	Mark bool
}

// find returns the sections that have all words of a question, the best first;
// where no section has all of them, those that have some.
func (x *index) find(question string) []result {
	asked := wordsOf(safetext.Line(question, 200))
	if len(asked) > maxWords {
		asked = asked[:maxWords]
	}
	scores, matched := map[int]float64{}, map[int]int{}
	for _, word := range asked {
		for at, score := range x.score(word) {
			scores[at] += score
			matched[at]++
		}
	}
	most := 0
	for _, n := range matched {
		most = max(most, n)
	}
	var found []int
	for at, n := range matched {
		if n == most {
			found = append(found, at)
		}
	}
	slices.SortFunc(found, func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b))
	})
	var results []result
	for _, at := range found[:min(len(found), maxResults)] {
		results = append(results, x.describe(at, asked))
	}
	return results
}

// score rates the sections that have a word or one that begins with it, by BM25.
func (x *index) score(word string) map[int]float64 {
	const k, b = 1.4, .6
	scores := map[int]float64{}
	from, _ := slices.BinarySearch(x.words, word)
	for _, like := range x.words[from:] {
		if !strings.HasPrefix(like, word) {
			break
		}
		worth := 1.
		if like != word {
			if len(word) < 3 {
				break
			}
			worth = likeWord
		}
		hits := x.hits[like]
		rare := math.Log(1 + (float64(len(x.sections))-float64(len(hits))+.5)/(float64(len(hits))+.5))
		for _, h := range hits {
			p := x.sections[h.section]
			score := worth * rare * h.weight * (k + 1) / (h.weight + k*(1-b+b*p.length/x.average))
			if p.page.Part.Anchor == decisions {
				score *= ofHistory
			}
			scores[h.section] = max(scores[h.section], score)
		}
	}
	return scores
}

func (x *index) describe(at int, asked []string) result {
	p := x.sections[at]
	r := result{Page: p.page.Title, Part: p.page.Part.Name, Heading: p.section.Heading, URL: p.page.URL(), Snippet: snippet(p.section.Text, asked)}
	if p.page.Part.Anchor == decisions { // whose sections are called alike
		r.Heading = p.page.Title
	}
	if p.section.Anchor != "" {
		r.URL += "#" + p.section.Anchor
	}
	return r
}

// snippet cuts out of a text what stands around the first word that was asked
// for, and marks all of them.
func snippet(text string, asked []string) (pieces []piece) {
	fields := strings.Fields(text)
	first := slices.IndexFunc(fields, func(f string) bool { return isAsked(f, asked) })
	from, length := max(first, 0), 0
	for from > 0 && length < aroundHit {
		from--
		length += len(fields[from]) + 1
	}
	if from > 0 {
		pieces = append(pieces, piece{Text: "… "})
	}
	length = 0
	for i := from; i < len(fields); i++ {
		if length > 2*aroundHit {
			return append(pieces, piece{Text: "…"})
		}
		pieces = append(pieces, piece{safetext.Line(fields[i], 80), isAsked(fields[i], asked)}, piece{Text: " "})
		length += len(fields[i]) + 1
	}
	return pieces
}

func isAsked(field string, asked []string) bool {
	for _, word := range wordsOf(field) {
		for _, a := range asked {
			if word == a || len(a) > 2 && strings.HasPrefix(word, a) {
				return true
			}
		}
	}
	return false
}
