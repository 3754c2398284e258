package console

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/apptest"
)

// connect runs an agent until the test ends and returns its id.
func connect(t *testing.T, a *apptest.App, opt agent.Options, handle agent.Handler) (id string) {
	t.Helper()
	connected := make(chan string, 16)
	opt.Log, opt.Gateway, opt.Key, opt.Identity = slog.New(slog.DiscardHandler), a.Agents, a.UserKey, filepath.Join(t.TempDir(), opt.Name+".json")
	opt.Connected = func(id string) {
		select {
		case connected <- id:
		default: // once more, after a restart
		}
	}
	w, err := agent.New(opt, handle)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }() // awaited at the end
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%s ended with: %v", opt.Name, err)
		}
	})
	select {
	case id = <-connected:
	case err := <-ended:
		t.Fatalf("%s did not connect: %v", opt.Name, err)
	}
	return id
}

// dictation is an agent that says what the test lets it say, piece by piece.
type dictation struct {
	pieces chan string // "" ends the answer
	mu     sync.Mutex
}

func (d *dictation) handle(ctx context.Context, _ agent.Message, r *agent.Reply) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := r.Reasoning("I write down what I am told."); err != nil {
		return err
	}
	for {
		select {
		case piece := <-d.pieces:
			if piece == "" {
				return nil
			}
			if err := r.Delta(piece); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// type_ writes into the composer and presses Enter.
func (b *tab) typeIn(text string) {
	b.t.Helper()
	b.do(chromedp.SendKeys(`#message`, text+"\r"))
}

const lastProse = `[...document.querySelectorAll(".prose")].at(-1)?.innerText`

// TestChat: words come as they are said, in every window; a reload in the
// middle of an answer goes on; Stop stops.
func TestChat(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	d := &dictation{pieces: make(chan string)}
	id := connect(t, a, agent.Options{Name: "scribe", DisplayName: "Scribe", Description: "Writes down what it is told."}, d.handle)
	b := open(t)
	b.look(1280, "light")
	b.signUp(a.Setup)
	b.inspect(a.Web + "/agents/" + id + "/chat")
	b.look(1280, "light")
	b.do(chromedp.Navigate(a.Web + "/agents/" + id + "/chat"))
	b.await("the box has the focus", `document.activeElement.id === "message"`)
	b.typeIn("Tell me about bees")
	b.do(chromedp.WaitVisible(".bubble"))
	b.await("the conversation begins", `location.pathname.split("/").length === 5 && document.querySelector(".bubble")?.innerText === "Tell me about bees"`)
	eval[bool](b, "window.same = true")
	d.pieces <- "# Bees\n\nThey make **hon"
	b.await("the first words come", lastProse+` === "Bees\n\nThey make hon" || `+lastProse+`?.includes("They make")`)
	d.pieces <- "ey**.\n\n- one\n- two\n"
	b.await("and the next", lastProse+`?.includes("honey") && !!document.querySelector(".prose li")`)
	if !eval[bool](b, "window.same === true") {
		t.Error("the page was loaded anew")
	}
	b.do(chromedp.Reload(), chromedp.WaitVisible(".bubble"))
	b.await("what was said is there", lastProse+`?.includes("honey") && !!document.querySelector(".thoughts") && !!document.querySelector(".halt")`)
	other := b.window(eval[string](b, "location.href"))
	other.await("in the other window, too", lastProse+`?.includes("honey")`)
	d.pieces <- "\nThat is all."
	for _, w := range []*tab{b, other} {
		w.await("it goes on after a reload", `!!`+lastProse+`?.match(/one\s+two\s+That is all\./)`)
	}
	b.inspectHere("in the middle of an answer")
	b.look(1280, "light")
	d.pieces <- ""
	for _, w := range []*tab{b, other} {
		w.await("it ends", `!document.querySelector("[data-open], .halt") && document.querySelectorAll(".turn").length === 1`)
	}
	if text := eval[string](b, lastProse); strings.Count(text, "honey") != 1 || strings.Count(text, "That is all.") != 1 {
		t.Errorf("the answer is %q", text)
	}
	b.inspectHere("after an answer")
	b.look(1280, "light")

	b.typeIn("And wasps?")
	other.await("what is said in one window shows up in the other", `document.querySelectorAll(".turn").length === 2`)
	b.await("the box is empty and has the focus", `document.activeElement.id === "message" && document.activeElement.value === ""`)
	d.pieces <- "Wasps are"
	b.await("it begins", lastProse+` === "Wasps are"`)
	b.do(chromedp.Click(`.halt`))
	b.await("it stops", `!document.querySelector("[data-open]") && document.querySelector(".turn:last-child").innerText.includes("Stopped.")`)
	if text := eval[string](b, lastProse); text != "Wasps are" {
		t.Errorf("what was said before it was stopped: %q", text)
	}
	for _, line := range append(b.complaints(), other.complaints()...) {
		t.Errorf("the browser complains: %s", line)
	}
	_ = fmt.Sprint
	_ = time.Second
	_ = client.New
}
