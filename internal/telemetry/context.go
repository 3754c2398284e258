package telemetry

import (
	"context"
	"log/slog"
)

// attr is a context with one more log attribute. A linked list costs one
// small allocation per attribute and nothing at all for a line not written.
type attr struct {
	context.Context
	key, value string
}

type attrKey struct{}

func (a *attr) Value(key any) any {
	if key == (attrKey{}) {
		return a
	}
	return a.Context.Value(key)
}

// With returns a context that adds key=value to every line logged with it.
// The usual keys are request, caller, agent and channel. A key given again
// replaces the value further up.
func With(ctx context.Context, key, value string) context.Context {
	return &attr{ctx, key, value}
}

// Value returns what With stored under key, or "".
func Value(ctx context.Context, key string) string {
	for a := outer(ctx); a != nil; a = outer(a.Context) {
		if a.key == key {
			return a.value
		}
	}
	return ""
}

func outer(ctx context.Context) *attr {
	a, _ := ctx.Value(attrKey{}).(*attr)
	return a
}

// attrs returns the context's attributes, oldest first.
func attrs(ctx context.Context) []slog.Attr {
	var found []slog.Attr
next:
	for a := outer(ctx); a != nil; a = outer(a.Context) {
		for _, f := range found {
			if f.Key == a.key {
				continue next
			}
		}
		found = append(found, slog.String(a.key, a.value))
	}
	for i, j := 0, len(found)-1; i < j; i, j = i+1, j-1 {
		found[i], found[j] = found[j], found[i]
	}
	return found
}
