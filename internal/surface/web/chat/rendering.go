package chat

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"

	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/transcript"
)

// rendering is a transcript as one browser has it: the HTML of each turn with
// its checksum, and the checksum of what was sent of it.
type rendering struct {
	pages      *page.Server
	transcript *transcript.Transcript
	order      []string // ids of turns
	html       map[string][]byte
	sums       map[string]string
	final      map[string]bool // will not look different any more
	sent       map[string]string
}

func newRendering(pages *page.Server, t *transcript.Transcript) *rendering {
	return &rendering{
		pages: pages, transcript: t,
		html: map[string][]byte{}, sums: map[string]string{}, final: map[string]bool{}, sent: map[string]string{},
	}
}

// update renders the turns that may look different now.
func (d *rendering) update() error {
	return d.transcript.EachTurn(func(u *transcript.Turn) error {
		if d.final[u.ID] {
			return nil
		}
		html, err := d.pages.RenderPart("chat", "turn", u)
		if err != nil {
			return err
		}
		if _, known := d.html[u.ID]; !known {
			d.order = append(d.order, u.ID)
		}
		d.html[u.ID], d.sums[u.ID], d.final[u.ID] = html, checksum(html), u.IsFinal()
		return nil
	})
}

// whole is the HTML of all turns.
func (d *rendering) whole() []byte {
	var b bytes.Buffer
	for _, id := range d.order {
		b.Write(d.html[id])
	}
	return b.Bytes()
}

// checksum names what the transcript looks like.
func (d *rendering) checksum() string {
	var b bytes.Buffer
	for _, id := range d.order {
		b.WriteString(d.sums[id])
	}
	return checksum(b.Bytes())
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
	if len(d.sent) == 0 {
		if has != d.checksum() {
			put("#transcript", "innerMorph", d.whole())
		}
		maps.Copy(d.sent, d.sums)
	}
	for _, id := range d.order {
		sum, known := d.sent[id]
		switch {
		case !known:
			put("#transcript", "beforeend", d.html[id])
		case sum != d.sums[id]:
			put("#turn-"+id, "outerMorph", d.html[id])
		}
		d.sent[id] = d.sums[id]
	}
	return b.Bytes()
}
