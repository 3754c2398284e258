package ledger

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/beeos/beeos/internal/store/calls"
)

var addUsage = newStatement(`INSERT INTO usage (route, day, model, slot, answers, input, output, micros, unpriced) VALUES `, `(?,?,?,?,?,?,?,?,?)`,
	` ON CONFLICT (route, day, model, slot) DO UPDATE SET answers = usage.answers + excluded.answers, input = usage.input + excluded.input,
		output = usage.output + excluded.output, micros = usage.micros + excluded.micros, unpriced = usage.unpriced + excluded.unpriced`)

// routeModel is what usage is added up by, besides the day.
type routeModel struct {
	route int64
	model string
}

func (a routeModel) compare(b routeModel) int {
	return cmp.Or(cmp.Compare(a.route, b.route), cmp.Compare(a.model, b.model))
}

// addUsage adds what an answer took to what the batch counts.
func (b *batch) addUsage(route int64, by *Attempt) {
	if by == nil {
		return
	}
	for _, u := range by.Usage {
		if b.usage == nil {
			b.usage = map[routeModel]*calls.UsageSum{}
		}
		at := routeModel{route, u.Model}
		if b.usage[at] == nil {
			b.usage[at] = &calls.UsageSum{}
		}
		b.usage[at].Add(u.UsageSum)
	}
}

// countUsage adds what answers took to the sums of the day, in the transaction that
// stores them: an answer that is lost counts nothing, one that is sent twice
// counts once.
func (b *batch) countUsage(ctx context.Context) error {
	var values []any
	for _, at := range slices.SortedFunc(maps.Keys(b.usage), routeModel.compare) {
		s := b.usage[at]
		values = append(values, at.route, b.now/calls.MicrosPerDay, at.model, b.w.slot, s.Answers, s.Input, s.Output, s.Micros, s.Unpriced)
	}
	err := b.w.execRows(ctx, addUsage, values)
	return err
}
