package chat

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"

	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/transcript"
)

// rendering is a transcript as one browser has it.
type rendering struct {
	pages      *page.Server
	transcript *transcript.Transcript
	turns      []*renderedTurn
	byID       map[string]*renderedTurn
	begun      bool // something was sent, or the browser had it
}

// renderedTurn is the HTML of a turn with its checksum, and the checksum of what
// was sent of it.
type renderedTurn struct {
	id        string
	html      []byte
	sum, sent string
	final     bool // will not look different any more
}

func newRendering(pages *page.Server, t *transcript.Transcript) *rendering {
	return &rendering{pages: pages, transcript: t, byID: map[string]*renderedTurn{}}
}

// update renders the turns that may look different now.
func (d *rendering) update() error {
	return d.transcript.EachTurn(func(u *transcript.Turn) (err error) {
		turn := d.byID[u.ID]
		if turn == nil {
			turn = &renderedTurn{id: u.ID}
			d.turns, d.byID[u.ID] = append(d.turns, turn), turn
		}
		if turn.final {
			return nil
		}
		turn.html, err = d.pages.RenderPart("chat", "turn", u)
		turn.sum, turn.final = checksum(turn.html), u.IsFinal()
		return err
	})
}

// whole is the HTML of all turns.
func (d *rendering) whole() (html []byte) {
	for _, turn := range d.turns {
		html = append(html, turn.html...)
	}
	return html
}

// checksum names what the transcript looks like.
func (d *rendering) checksum() string {
	var sums []byte
	for _, turn := range d.turns {
		sums = append(sums, turn.sum...)
	}
	return checksum(sums)
}

func checksum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// changes is what a browser needs beyond what was sent before. At first that is
// everything, unless the browser has it from the page: has is its checksum.
func (d *rendering) changes(has string) []byte {
	var b bytes.Buffer
	put := func(target, how string, html []byte) {
		b.WriteString(`<hx-partial hx-target="` + target + `" hx-swap="` + how + `">`)
		b.Write(html)
		b.WriteString(`</hx-partial>`)
	}
	if !d.begun && has != d.checksum() {
		put("#transcript", "innerMorph", d.whole())
	}
	for _, turn := range d.turns {
		switch {
		case !d.begun || turn.sent == turn.sum:
		case turn.sent == "":
			put("#transcript", "beforeend", turn.html)
		default:
			put("#turn-"+turn.id, "outerMorph", turn.html)
		}
		turn.sent = turn.sum
	}
	d.begun = len(d.turns) > 0
	return b.Bytes()
}
