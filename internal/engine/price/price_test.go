package price

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/calls"
)

func TestFind(t *testing.T) {
	list := &List{Models: map[string]Price{"gpt-4o": {1, 2}, "gpt-4o-mini": {3, 4}, "claude-opus-4": {5, 6}}}
	for model, want := range map[string]float64{
		"gpt-4o": 1, "GPT-4o": 1, "openai/gpt-4o": 1, "gpt-4o-2024-11-20": 1, "gpt-4o-latest": 1,
		"gpt-4o-mini": 3, "gpt-4o-mini-2024-07-18": 3, "claude-opus-4-20250514": 5,
		"gpt-4o-audio": 0, "gpt-4oo": 0, "claude-opus-4-6": 0, "gpt": 0, "": 0, "-20250101": 0,
	} {
		if got, _ := list.Find(model); got.Input != want {
			t.Errorf("%s costs %v, want %v", model, got.Input, want)
		}
	}
	if _, ok := (*List)(nil).Find("gpt-4o"); ok {
		t.Error("no list has a price")
	}
}

func TestCharge(t *testing.T) {
	list := &List{Models: map[string]Price{"m": {3, 15}}}
	got := list.Charge([]beeos.Usage{
		{Model: "m", InputTokens: 1000, OutputTokens: 100},
		{Model: "unknown", InputTokens: 7, OutputTokens: 1},
		{Model: "m", InputTokens: 1, CostUSD: 0.25},
	})
	want := []calls.Usage{
		{Model: "m", UsageSum: calls.UsageSum{Answers: 1, Input: 1000, Output: 100, Micros: 4500}},
		{Model: "unknown", UsageSum: calls.UsageSum{Answers: 1, Input: 7, Output: 1, Unpriced: 8}},
		{Model: "m", UsageSum: calls.UsageSum{Answers: 1, Input: 1, Micros: 250_000}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prices.json")
	shipped, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := time.Parse(time.DateOnly, shipped.AsOf); err != nil || len(shipped.Models) < 20 {
		t.Errorf("the list that comes with us is of %q and has %d models", shipped.AsOf, len(shipped.Models))
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"as_of": "2030-01-01", "models": {"Mine": {"input": 1, "output": 2}, "gpt-4o": {"input": 9, "output": 9}}}`)
	own, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]float64{"mine": 1, "gpt-4o": 9, "gpt-4o-mini": shipped.Models["gpt-4o-mini"].Input} {
		if p, _ := own.Find(model); p.Input != want {
			t.Errorf("%s costs %v, want %v", model, p.Input, want)
		}
	}
	for _, bad := range []string{"", "[]", `{"models": {"m": {"in": 1}}}`, `{"models": {"m": {"input": -1}}}`, `{"models": {"": {"input": 1}}}`} {
		write(bad)
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := Load(filepath.Dir(path)); err == nil {
		t.Error("a folder was read")
	}
}
