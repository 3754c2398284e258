package telemetry

import (
	"context"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
)

// NewLogger returns a logger that writes to w. Format is "json", "text", or
// "auto" (also ""): text on a terminal, JSON elsewhere. Text is coloured on a
// terminal only, and not there when NO_COLOR is set.
func NewLogger(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	tty := isTerminal(w)
	if format == "json" || (format != "text" && !tty) {
		return slog.New(contextHandler{slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})})
	}
	return slog.New(contextHandler{tint.NewTextHandler(w, &tint.Options{
		Level:      level,
		TimeFormat: time.TimeOnly,
		NoColor:    !tty || os.Getenv("NO_COLOR") != "",
	})})
}

// isTerminal reports whether w is a character device other than /dev/null.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// contextHandler adds the context's attributes to every record.
type contextHandler struct{ slog.Handler }

func (h contextHandler) Handle(ctx context.Context, r slog.Record) error {
	if found := listAttrs(ctx); len(found) > 0 {
		r = r.Clone()
		r.AddAttrs(found...)
	}
	return h.Handler.Handle(ctx, r)
}

func (h contextHandler) WithAttrs(as []slog.Attr) slog.Handler {
	return contextHandler{h.Handler.WithAttrs(as)}
}

func (h contextHandler) WithGroup(name string) slog.Handler {
	return contextHandler{h.Handler.WithGroup(name)}
}
