package check

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
)

func echoLargeText(ctx context.Context, w *world) error {
	text := strings.Repeat("0123456789abcdü", 1_000_000/len("0123456789abcdü"))
	return w.expect(ctx, text, "you said: "+text)
}

// oddTexts are what programs in some language or other have stumbled over.
var oddTexts = []string{
	"🐝 é 日本語 👩‍👩‍👧", "a\u2028b\u2029c", "tab\tquote\"back\\slash <&> 'single'", "bell\a escape\x1b delete\x7f one\x01",
	"two\nlines\r\nand more\n", "\ufeffmark", "right \u202eto left", "null", "true", "0", `{"a":1}`, "[]", "%s %d %%", "${HOME} $(id)",
	"no_such_tool and more",
}

func echoOddText(ctx context.Context, w *world) error {
	for _, text := range oddTexts {
		if err := w.expect(ctx, text, "you said: "+text); err != nil {
			return err
		}
	}
	return nil
}

func oddValues() map[string]string {
	return map[string]string{
		"nothing":       `{}`,
		"empty":         `{"":"","a":"","b":[],"c":{},"d":null,"e":[[],{},null,""]}`,
		"deep":          `{"deep":` + strings.Repeat(`[{"a":`, 40) + `1` + strings.Repeat(`}]`, 40) + `}`,
		"numbers":       `{"tiny":1e-7,"large":9007199254740991,"negative":-0.5,"zero":0,"float":1.5e300}`,
		"names":         `{"__proto__":{"x":1},"constructor":"y","toString":"z","é\u2028":1,"a.b":2,"class":3}`,
		"texts":         `{"t":"\u0001\u001f\u007f\u2028 🐝 \"\\ <&>"}`,
		"half a MB":     `{"long":"` + strings.Repeat("0123456789abcdef", 400_000/16) + `"}`,
		"many members":  `{"list":[` + strings.Repeat(`{"a":1},`, 5000) + `0]}`,
		"true or false": `{"yes":true,"no":false}`,
	}
}

func echoOddJSON(ctx context.Context, w *world) error {
	for name, args := range oddValues() {
		result, err := w.callTool(ctx, "echo", json.RawMessage(args))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if result.IsError {
			return fmt.Errorf("%s: the tool failed: %s", name, cut(result.Text()))
		}
		got, err := normalize(result.Structured)
		if err != nil {
			return fmt.Errorf("%s: the tool has no structured result", name)
		}
		want, err := normalize(json.RawMessage(args))
		if err != nil {
			return err
		}
		if err := compare(name, got, want); err != nil {
			return err
		}
	}
	return nil
}

// normalize writes a value so that equal ones are equal texts.
func normalize(raw json.RawMessage) (string, error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return "", err
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// atOnce is how many calls meet in the agent.
const atOnce = 8

// answerAtOnce makes calls that end only when all of them are there, and others
// beside them.
func answerAtOnce(ctx context.Context, w *world) error {
	all, ctx := errgroup.WithContext(ctx)
	for i := range atOnce {
		all.Go(func() error { return w.expect(ctx, fmt.Sprint("meet ", atOnce), fmt.Sprint("met ", atOnce)) })
		all.Go(func() error {
			for j := range atOnce {
				text := fmt.Sprint("caller ", i, " call ", j)
				if err := w.expect(ctx, text, "you said: "+text); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return all.Wait()
}
