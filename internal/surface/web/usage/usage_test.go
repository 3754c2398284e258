package usage

import (
	"fmt"
	"testing"

	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/test/pagetest"
)

func TestPageRendersEmptyOneAndMany(t *testing.T) {
	pagetest.RenderAll(t, pagetest.NewServer(t, templates), templates, func(n int) map[string]any {
		return map[string]any{"usage": data{
			Heads: []string{"Agent", "Model"}, By: []page.Choice{{Value: "agent", Text: "agent", Picked: true}}, Days: spans, Export: "/usage/export", AsOf: "2026-01-31",
			Rows: pagetest.Repeat(n, func(i int) row {
				return newRow([]string{fmt.Sprint("<b>", i), "m"}, &calls.UsageSum{Answers: int64(i), Unpriced: int64(i % 2)})
			}),
		}}
	}, map[string]string{"usage": "data-usage"})
}

func TestNumbersAreReadable(t *testing.T) {
	for s, want := range map[calls.UsageSum]row{
		{Answers: 1, Input: 1234567, Output: 999, Micros: 12_345_678}: {Answers: "1", Input: "1,234,567", Output: "999", Cost: "$12.35"},
		{Answers: 1000, Input: 0, Micros: 1234}:                       {Answers: "1,000", Input: "0", Output: "0", Cost: "$0.0012"},
		{Input: 5, Unpriced: 5}:                                       {Answers: "0", Input: "5", Output: "0", Missing: "5"},
		{Input: 10, Micros: 500_000, Unpriced: 5}:                     {Answers: "0", Input: "10", Output: "0", Cost: "$0.50", Missing: "5"},
		{}: {Answers: "0", Input: "0", Output: "0", Cost: "$0.00"},
	} {
		if got := newRow(nil, &s); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%+v is %+v, want %+v", s, got, want)
		}
	}
}
