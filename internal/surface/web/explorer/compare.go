package explorer

import (
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/sight"
	"github.com/beeos/beeos/internal/engine/sight/compare"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// compareData is two calls side by side.
type compareData struct {
	Was, Is side
	Working bool // the second has no answer yet
	Same    bool
	Cut     bool              // only the beginnings are compared
	Answer  []safetext.Piece  // of both, if it is the same
	Changes []safetext.Change // from one answer to the other
	Edited  []safetext.Change // from one request to the other; none = it was the same
}

// Sides are both.
func (d compareData) Sides() []side { return []side{d.Was, d.Is} }

// side is one of the two calls.
type side struct {
	Name          string
	Row           page.CallRow
	Input, Output int64 // tokens
}

func (e *Explorer) compareCalls(r *page.Request) (page.Answer, error) {
	was, err := e.Acts.Call(r.Context(), r.Caller(), r.PathValue("call"))
	if err != nil {
		return nil, err
	}
	is, err := e.Acts.Call(r.Context(), r.Caller(), r.PathValue("other"))
	if err != nil {
		return nil, err
	}
	if was.MetadataOnly || is.MetadataOnly {
		return nil, beeos.Errorf(beeos.Forbidden, "what was said in these calls is kept from you (metadata only), so they cannot be compared; look at each by itself")
	}
	rows, err := e.describeCalls(r.Context(), r.Visitor, []calls.Call{e.rowOf(&was), e.rowOf(&is)})
	if err != nil {
		return nil, err
	}
	d := compareData{Was: newSide("original", rows[0], &was), Is: newSide("replay", rows[1], &is), Working: was.Done == nil || is.Done == nil}
	d.compareInput(&was, &is)
	view := page.View{Page: "compare", Title: "Two answers", Room: "calls"}
	if d.Working {
		view.Live = "/calls/" + was.ID + "/compare/" + is.ID + "/live"
	} else {
		d.compareAnswers(&was, &is)
	}
	view.Data = d
	return view, nil
}

func newSide(name string, row page.CallRow, c *sight.Call) side {
	s := side{Name: name, Row: row}
	for i := range c.Steps {
		s.Input += c.Steps[i].InputTokens
		s.Output += c.Steps[i].OutputTokens
	}
	return s
}

func (d *compareData) compareAnswers(was, is *sight.Call) {
	a, b := answerOf(was), answerOf(is)
	d.Same = was.Outcome == is.Outcome && a == b
	first, second := d.shorten(a.String()), d.shorten(b.String())
	if d.Same {
		d.Answer = safetext.Pieces(beeos.Visible(second))
		return
	}
	d.Changes = safetext.Compare(beeos.Visible(first), beeos.Visible(second))
}

func answerOf(c *sight.Call) compare.Answer {
	return compare.Read(c.Done.Body, c.Done.Parts, c.Done.Payload)
}

// compareInput shows what was said differently.
func (d *compareData) compareInput(was, is *sight.Call) {
	a, b := compare.ReadInput(was.Body, was.Payload.Arguments).String(), compare.ReadInput(is.Body, is.Payload.Arguments).String()
	if a != b {
		d.Edited = safetext.Compare(beeos.Visible(d.shorten(a)), beeos.Visible(d.shorten(b)))
	}
}

// shorten cuts what is too long for a page.
func (d *compareData) shorten(text string) string {
	if len(text) <= maxShown {
		return text
	}
	d.Cut = true
	return strings.ToValidUTF8(text[:maxShown], "")
}
