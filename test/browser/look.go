package browser

import (
	"context"
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Look sets how wide the window is and what the system prefers.
func (b *Tab) Look(width int64, scheme string) {
	b.T.Helper()
	b.Do(chromedp.EmulateViewport(width, 800))
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"}, // colours are there at once
		},
	})
	if err != nil {
		b.T.Fatal(err)
	}
}

// WithoutScripts leaves the pages to come with their forms and links.
func (b *Tab) WithoutScripts() {
	b.T.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		b.T.Fatal(err)
	}
}

// Save writes a picture of the window.
func (b *Tab) Save(path string, shot chromedp.Action[[]byte]) {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, StepsWithin)
	defer cancel()
	png, err := chromedp.Run(ctx, shot)
	if err != nil {
		b.T.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.T.Fatal(err)
	}
	if err := os.WriteFile(path, png, 0o644); err != nil {
		b.T.Fatal(err)
	}
}
