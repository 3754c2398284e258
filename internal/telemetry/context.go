package telemetry

import (
	"context"
	"log/slog"
	"slices"
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
	for a := outerAttr(ctx); a != nil; a = outerAttr(a.Context) {
		if a.key == key {
			return a.value
		}
	}
	return ""
}

func outerAttr(ctx context.Context) *attr {
	a, _ := ctx.Value(attrKey{}).(*attr)
	return a
}

// listAttrs returns the context's attributes, oldest first.
func listAttrs(ctx context.Context) []slog.Attr {
	var found []slog.Attr
	for a := outerAttr(ctx); a != nil; a = outerAttr(a.Context) {
		if !slices.ContainsFunc(found, func(f slog.Attr) bool { return f.Key == a.key }) {
			found = append(found, slog.String(a.key, a.value))
		}
	}
	slices.Reverse(found)
	return found
}
