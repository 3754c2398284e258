// Package price says what tokens cost: by the list in the data folder, and by the one that
// comes with the program (prices.json), which has the date that it is from.
package price

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/calls"
)

// List is what models cost. A nil List knows no prices.
type List struct {
	AsOf   string           `json:"as_of"`  // the date that its prices are from
	Models map[string]Price `json:"models"` // by name, without date
}

// Price is in US dollars per million tokens.
type Price struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
}

//go:embed prices.json
var shipped []byte

// Default is the list that comes with the program.
func Default() *List {
	list, err := parse(shipped)
	if err != nil {
		panic(err) // it is part of the program
	}
	return list
}

// Load reads a list from a file and adds it to the one that comes with the program:
// of a model that is in both, the file's price counts. The file need not be there.
func Load(path string) (*List, error) {
	list := Default()
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the price list: %w", err)
	}
	own, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("the price list %s: %w", path, err)
	}
	for model, p := range own.Models {
		list.Models[model] = p
	}
	if own.AsOf != "" {
		list.AsOf = own.AsOf
	}
	return list, nil
}

// maxPrice is more than anybody asks for a million tokens.
const maxPrice = 1e6

func parse(data []byte) (*List, error) {
	read := json.NewDecoder(bytes.NewReader(data))
	read.DisallowUnknownFields()
	var told List
	if err := read.Decode(&told); err != nil {
		return nil, fmt.Errorf(`%w; it should read {"as_of": "2026-01-31", "models": {"some-model": {"input": 3, "output": 15}}}, in US dollars per million tokens`, err)
	}
	list := &List{AsOf: told.AsOf, Models: make(map[string]Price, len(told.Models))}
	for model, p := range told.Models {
		if model == "" || p.Input < 0 || p.Output < 0 || p.Input > maxPrice || p.Output > maxPrice {
			return nil, fmt.Errorf("the price of %q is not between 0 and %.0f US dollars per million tokens", model, maxPrice)
		}
		list.Models[plainName(model)] = p
	}
	return list, nil
}

// plainName is a model's name without the provider before it: "openai/gpt-4o" is
// "gpt-4o".
func plainName(model string) string {
	model = strings.ToLower(model)
	return model[strings.LastIndexByte(model, '/')+1:]
}

// Find returns the price of a model: that of its name, or of its name without the
// date or stage at the end, as in "gpt-4o-2024-11-20". "gpt-4o-mini" is another
// model, and "claude-opus-4-6" is, too.
func (l *List) Find(model string) (Price, bool) {
	if l == nil {
		return Price{}, false
	}
	for name := plainName(model); name != ""; {
		if p, ok := l.Models[name]; ok {
			return p, true
		}
		at := strings.LastIndexAny(name, "-@")
		if at < 0 || !isEdition(name[at+1:]) {
			break
		}
		name = name[:at]
	}
	return Price{}, false
}

// isEdition reports whether the end of a model's name is part of a date, or a stage.
func isEdition(end string) bool {
	return end == "latest" || end == "preview" || end == "exp" || len(end) >= 2 && strings.Trim(end, "0123456789") == ""
}

// Charge adds to what an answer took what that costs. Who says what it cost is
// believed; a model without a price costs nothing that is known.
func (l *List) Charge(usage []beeos.Usage) []calls.Usage {
	if len(usage) == 0 {
		return nil
	}
	list := make([]calls.Usage, len(usage))
	for i, u := range usage {
		sum := calls.UsageSum{Answers: 1, Input: u.InputTokens, Output: u.OutputTokens}
		if p, ok := l.Find(u.Model); u.CostUSD > 0 {
			sum.Micros = int64(math.Round(u.CostUSD * 1e6))
		} else if ok { // dollars per million tokens are millionths per token
			sum.Micros = int64(math.Round(float64(u.InputTokens)*p.Input + float64(u.OutputTokens)*p.Output))
		} else {
			sum.Unpriced = u.InputTokens + u.OutputTokens
		}
		list[i] = calls.Usage{Model: u.Model, UsageSum: sum}
	}
	return list
}
