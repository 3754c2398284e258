package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/browser"
)

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

// typeIn writes into the composer and presses Enter.
func (b *tab) typeIn(text string) {
	b.T.Helper()
	b.Do(chromedp.SendKeys(`#message`, text+"\r"))
}

const lastProse = `[...document.querySelectorAll(".prose")].at(-1)?.innerText`

// TestChat: words come as they are said, in every window; a reload in the
// middle of an answer goes on; Stop stops.
func TestChat(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	d := &dictation{pieces: make(chan string)}
	id := a.Connect(t, agent.Options{Name: "scribe", DisplayName: "Scribe", Description: "Writes down what it is told."}, d.handle)
	b := open(t)
	b.Look(1280, "light")
	b.SignUp(a.Setup)
	b.inspect(a.Web + "/agents/" + id + "/chat")
	b.Look(1280, "light")
	b.Do(chromedp.Navigate(a.Web + "/agents/" + id + "/chat"))
	b.Await("the box has the focus", `document.activeElement.id === "message"`)
	b.typeIn("Tell me about bees")
	b.Do(chromedp.WaitVisible(".bubble"))
	b.Await("the conversation begins", `location.pathname.split("/").length === 5 && document.querySelector(".bubble")?.innerText === "Tell me about bees"`)
	eval[bool](b, "window.same = true")
	d.pieces <- "# Bees\n\nThey make **hon"
	b.Await("the first words come", lastProse+` === "Bees\n\nThey make hon" || `+lastProse+`?.includes("They make")`)
	d.pieces <- "ey**.\n\n- one\n- two\n"
	b.Await("and the next", lastProse+`?.includes("honey") && !!document.querySelector(".prose li")`)
	if !eval[bool](b, "window.same === true") {
		t.Error("the page was loaded anew")
	}
	b.Do(chromedp.Reload(), chromedp.WaitVisible(".bubble"))
	b.Await("what was said is there", lastProse+`?.includes("honey") && !!document.querySelector(".thoughts") && !!document.querySelector(".halt")`)
	other := &tab{b.Window(eval[string](b, "location.href"))}
	other.Await("in the other window, too", lastProse+`?.includes("honey")`)
	d.pieces <- "\nThat is all."
	for _, w := range []*tab{b, other} {
		w.Await("it goes on after a reload", `!!`+lastProse+`?.match(/one\s+two\s+That is all\./)`)
	}
	b.inspectHere("in the middle of an answer")
	b.Look(1280, "light")
	d.pieces <- ""
	for _, w := range []*tab{b, other} {
		w.Await("it ends", `!document.querySelector("[data-open], .halt") && document.querySelectorAll(".turn").length === 1`)
	}
	if text := eval[string](b, lastProse); strings.Count(text, "honey") != 1 || strings.Count(text, "That is all.") != 1 {
		t.Errorf("the answer is %q", text)
	}
	b.inspectHere("after an answer")
	b.Look(1280, "light")

	b.typeIn("And wasps?")
	other.Await("what is said in one window shows up in the other", `document.querySelectorAll(".turn").length === 2`)
	b.Await("the box is empty and has the focus", `document.activeElement.id === "message" && document.activeElement.value === ""`)
	d.pieces <- "Wasps are"
	b.Await("it begins", lastProse+` === "Wasps are"`)
	b.Do(chromedp.Click(`.halt`))
	b.Await("it stops", `!document.querySelector("[data-open]") && document.querySelector(".turn:last-child").innerText.includes("Stopped.")`)
	if text := eval[string](b, lastProse); text != "Wasps are" {
		t.Errorf("what was said before it was stopped: %q", text)
	}
	b.NoComplaints()
	other.NoComplaints()
}

// TestChatRestart: the server is stopped in the middle of an answer and comes
// back; the page goes on with nothing lost and nothing twice.
func TestChatRestart(t *testing.T) {
	cfg := apptest.ConfigToReturn(t)
	a := apptest.Start(t, cfg)
	d := &dictation{pieces: make(chan string)}
	id := a.Connect(t, agent.Options{Name: "scribe", DisplayName: "Scribe"}, d.handle)
	b := open(t)
	b.Look(1280, "light")
	b.SignUp(a.Setup)
	b.Do(chromedp.Navigate(a.Web + "/agents/" + id + "/chat"))
	b.typeIn("go on")
	b.Do(chromedp.WaitVisible(".bubble"))
	d.pieces <- "before, "
	b.Await("it begins", lastProse+` === "before,"`)
	eval[bool](b, "window.same = true")
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	b.Await("the page says so", `!document.getElementById("lost").hidden`)
	apptest.Start(t, cfg)
	b.Await("it is back", `document.getElementById("lost").hidden`)
	d.pieces <- "after."
	d.pieces <- ""
	b.Await("it ends", `!document.querySelector("[data-open]")`)
	if text := eval[string](b, lastProse); text != "before, after." {
		t.Errorf("the answer is %q", text)
	}
	if !eval[bool](b, "window.same === true") {
		t.Error("the page was loaded anew")
	}
}

// TestChatExample: the streaming example, as its readers run it.
func TestChatExample(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	program := filepath.Join(t.TempDir(), "streaming")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../examples/streaming").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), "BEEOS_DATA="+a.Data, "AGENT_GATEWAY_URL=", "BEEOS_KEY=", "BEEOS_JOIN_TOKEN=", "XDG_CONFIG_HOME="+t.TempDir())
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	b := open(t)
	b.Look(1280, "light")
	b.SignUp(a.Setup)
	b.Do(chromedp.Navigate(a.Web + "/agents"))
	b.Await("the example is there", `!!document.evaluate("//a[contains(., 'streaming-example')]", document, null, 9).singleNodeValue?.querySelector(".dot.on")`)
	b.Do(chromedp.Navigate(a.Web + "/agents/" + eval[string](b, `document.evaluate("//li[contains(., 'streaming-example')]", document, null, 9).singleNodeValue.dataset.agent`) + "/chat"))
	b.typeIn(strings.Repeat("word ", 100))
	b.Do(chromedp.WaitVisible(".bubble"))
	b.Await("it tells how far it is", `!!document.querySelector(".working progress")`)
	b.Await("it thinks aloud", `document.querySelector(".thoughts")?.textContent.includes("There are 100 words")`)
	eval[bool](b, `document.querySelector(".thoughts").open = true`)
	b.Await("it counts", lastProse+`?.includes("50 word,")`)
	if !eval[bool](b, `document.querySelector(".thoughts").open`) {
		t.Error("what was opened closes by itself")
	}
	b.Await("it ends", lastProse+`?.endsWith("100 word, that is all.") && !document.querySelector(".working")`)
	text := eval[string](b, lastProse)
	for i := range 100 {
		if strings.Count(text, fmt.Sprintf("%d word,", i+1)) == 0 {
			t.Fatalf("%d is missing in %s", i+1, text)
		}
	}
	b.NoComplaints()
}

// TestChatHands: the built-in agent of the demo wants to use a tool; the
// person approves it where they talk, and rejects another.
func TestChatHands(t *testing.T) {
	cfg := apptest.Config(t)
	cfg.LLM.Provider = "scripted"
	a := apptest.Start(t, cfg)
	b := open(t)
	b.Look(1280, "light")
	b.SignUp(a.Setup)
	b.Do(chromedp.Navigate(a.Web + "/agents"))
	b.Await("the assistant is there", `!!document.evaluate("//li[contains(., 'Assistant')]", document, null, 9).singleNodeValue?.querySelector(".dot.on")`)
	id := eval[string](b, `document.evaluate("//li[contains(., 'Assistant')]", document, null, 9).singleNodeValue.dataset.agent`)
	b.Do(
		chromedp.Navigate(a.Web+"/agents/"+id+"/skills"), chromedp.WaitVisible(`select[name="all"]`),
		chromedp.SetValue(`select[name="all"]`, "ask"), chromedp.Click(`form:has(select[name="all"]) button`), chromedp.WaitVisible(".note.good"),
		chromedp.Navigate(a.Web+"/agents/"+id+"/chat"),
	)
	b.typeIn("What is 2 and 3.5?")
	b.Do(chromedp.WaitVisible("[data-ask]"))
	if text := eval[string](b, `document.querySelector("[data-ask]").innerText`); !containsAll(text, "demo / add", "2,", "3.5", "Approve") {
		t.Errorf("the card says %s", text)
	}
	b.inspectHere("a card in a conversation")
	b.Look(1280, "light")
	b.picture("chat")
	eval[bool](b, "window.same = true")
	b.Do(chromedp.Click("[data-approve]"))
	b.Await("the answer comes", lastProse+` === "The answer is 5.5."`)
	b.Await("the card is gone", `!document.querySelector("[data-ask]") && document.querySelector(".step .dot").textContent === "done"`)

	b.typeIn("And 4 and 5?")
	b.Await("it asks again", `!!document.querySelector("[data-ask]")`)
	b.Do(chromedp.SendKeys("[data-reject]", "no more sums\r"))
	b.Await("the model is told", lastProse+`?.includes("no more sums")`)
	b.Await("the step says so", `[...document.querySelectorAll(".step .dot")].at(-1).textContent === "rejected"`)
	if !eval[bool](b, "window.same === true") {
		t.Error("the page was loaded anew")
	}
	b.Do(chromedp.Reload(), chromedp.WaitVisible(".prose"))
	b.Await("it is all there after a reload", `document.querySelectorAll(".step").length === 2 && document.querySelectorAll(".thoughts").length === 2`)
	for _, d := range []string{`document.querySelectorAll("details.aside").forEach(d => d.open = true)`} {
		eval[any](b, d)
	}
	b.inspectHere("tool steps")
	b.NoComplaints()
}

// TestChatLooks: an answer with everything in it, a question, a failure.
func TestChatLooks(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	id := a.Connect(t, agent.Options{Name: "guide", DisplayName: "Guide", Description: "Knows its way around."}, func(ctx context.Context, m agent.Message, r *agent.Reply) error {
		switch {
		case strings.Contains(m.Text, "fail"):
			return r.Fail("the map server answered 503")
		case strings.Contains(m.Text, "ask"):
			got, err := r.Elicit(ctx, "Before I book: what do you need?", json.RawMessage(`{"type":"object","properties":{"day":{"type":"string","title":"Day","description":"such as Friday"},"people":{"type":"integer","title":"People"},"room":{"type":"string","title":"Room","enum":["small","large"]},"quiet":{"type":"boolean","title":"A quiet one"}},"required":["day"]}`))
			if err != nil {
				return err
			}
			more, err := r.InputRequired(ctx, "And your name?", nil)
			if err != nil {
				return err
			}
			return r.Send("Booked for " + more.Text + ": " + string(got.Content))
		}
		return r.Send(everything)
	})
	b := open(t)
	b.Look(1280, "light")
	b.SignUp(a.Setup)
	chat := a.Web + "/agents/" + id + "/chat"
	for _, text := range []string{"How do I get to the lake?", "please fail"} {
		b.Do(chromedp.Navigate(chat))
		b.typeIn(text)
		b.Do(chromedp.WaitVisible(".prose, .trouble"))
		b.inspectHere(text)
		b.Look(1280, "light")
	}
	b.Look(360, "light") // a telephone: the end of the conversation and the composer are in view, the list is not
	b.Do(chromedp.Navigate(chat), chromedp.Click(".chats summary"), chromedp.Click("#chats li:last-child a"), chromedp.WaitVisible(".prose"))
	b.Await("the end is in view", `innerHeight + scrollY >= document.documentElement.scrollHeight - 2`)
	if !eval[bool](b, `document.getElementById("composer").getBoundingClientRect().bottom <= innerHeight && !document.querySelector(".chats").open`) {
		t.Error("the box is out of view, or the list is open")
	}
	if *album != "" {
		b.Save(filepath.Join(*album, "phone.png"), chromedp.CaptureScreenshot())
	}
	b.Look(1280, "light")
	b.Await("the list is open again", `document.querySelector(".chats").open`)
	b.Do(chromedp.Click("#chats li:first-child a"), chromedp.WaitVisible(".trouble"))
	b.Do(chromedp.Click(".trouble button"))
	b.Await("it is tried again", `document.querySelectorAll(".trouble").length === 2`)

	b.Do(chromedp.Navigate(chat))
	b.typeIn("ask me")
	b.Do(chromedp.WaitVisible("form.question"))
	b.inspectHere("a form in a conversation")
	b.Look(1280, "light")
	b.Do(
		chromedp.SendKeys(`[name="f.day"]`, "Friday"), chromedp.SendKeys(`[name="f.people"]`, "4"), chromedp.SetValue(`[name="f.room"]`, "large"),
		chromedp.Click(`[name="f.quiet"]`), chromedp.Click(`form.question button[type="submit"]`),
	)
	b.Await("the next question comes", `document.querySelector("form.question")?.innerText.includes("And your name?")`)
	b.Do(chromedp.SendKeys(`[name="f.message"]`, "Ann\r"))
	b.Await("it goes on", lastProse+` === 'Booked for Ann: {"day":"Friday","people":4,"quiet":true,"room":"large"}'`)

	b.Do(chromedp.Click(".title .menu summary"), chromedp.Clear(`[name="title"]`), chromedp.SendKeys(`[name="title"]`, "The lake\r"), chromedp.WaitVisible(".note.good"))
	if got := eval[string](b, `document.querySelector("#chats [aria-current] span").innerText`); got != "The lake" {
		t.Errorf("it is called %q", got)
	}
	eval[bool](b, "window.confirm = () => true; true")
	b.Do(chromedp.Click(".title .menu summary"), chromedp.Click(".menu .danger"), chromedp.WaitVisible(".greeting"))
	if n := eval[int](b, `document.querySelectorAll("[data-chat]").length`); n != 2 {
		t.Errorf("%d conversations are left", n)
	}
	b.NoComplaints()
}

const everything = `# The way to the lake

Take the **red line** to *Seestrasse*, then walk. See [the map](https://example.com/map) or https://example.com; there is a picture, too: ![the lake](https://tracker.example/lake.png).

1. Leave the station by the stairs on the left.
2. Follow the river
   - on its sunny side
   - for ten minutes, or ` + "`time.Duration(10 * time.Minute)`" + `
3. You are there.

> The ferry does not run in winter.

| line | every | first | last | notes that are rather long, so that the table has to scroll on a telephone |
|:-----|------:|:-----:|------|---|
| red  | 7 min | 05:10 | 00:40 | wheelchairs |
| blue | 15 min | 05:30 | 23:50 | bicycles after nine |

` + "```go\nfunc walk(ctx context.Context, to string) error {\n\treturn errors.New(\"a line of code that is much too long to fit into the narrow window of a telephone, so it scrolls\")\n}\n```" + `

<b>Not bold</b>, and <script>alert(1)</script> is text. 👩‍🚀 ❤️
`

// TestChatWithoutJavaScript: to say something, look again, and read the answer.
func TestChatWithoutJavaScript(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	b := open(t)
	b.Look(1280, "light")
	b.WithoutScripts()
	b.SignUp(a.Setup)
	for _, text := range []string{"hello", "again"} {
		if text == "hello" {
			b.Do(chromedp.Navigate(a.Web + "/agents/" + a.AgentID + "/chat"))
		}
		b.Do(chromedp.SendKeys("#message", text), browser.Leads(chromedp.Click(".send")), chromedp.WaitVisible(".bubble"))
		b.reloadUntil(eval[string](b, `location.href.split("#")[0]`), "#transcript:not(:has([data-open])) .prose")
	}
	if text := eval[string](b, `document.getElementById("transcript").innerText`); !containsAll(text, "you said: hello", "you said: again") {
		t.Errorf("the transcript is %s", text)
	}
}
