package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

func TestMarkdown(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"words", "a *b* **c** `d` ~~e~~", "<p>a <em>b</em> <strong>c</strong> <code>d</code> <del>e</del></p>\n"},
		{"tags show as text", "x <b onclick=alert(1)>y</b>", "<p>x &lt;b onclick=alert(1)&gt;y&lt;/b&gt;</p>\n"},
		{"a block of tags", "<script>\nalert(1)\n</script>\n", "<p class=\"plain\">&lt;script&gt;\nalert(1)\n&lt;/script&gt;\n</p>\n"},
		{"link", "[a](https://example.com/?q=1&r=<x>)", `<p><a href="https://example.com/?q=1&amp;r=&lt;x&gt;" rel="noopener noreferrer nofollow ugc" target="_blank">a</a></p>` + "\n"},
		{"mail", "<ann@example.com>", `<p><a href="mailto:ann@example.com" rel="noopener noreferrer nofollow ugc" target="_blank">ann@example.com</a></p>` + "\n"},
		{"bare address", "see https://example.com.", `<p>see <a href="https://example.com" rel="noopener noreferrer nofollow ugc" target="_blank">https://example.com</a>.</p>` + "\n"},
		{"script link", "[a](javascript:alert(1)) [b](JaVaScRiPt:x) [c](data:text/html,x) [d](/agents) [e](//evil.example)", "<p>a b c d e</p>\n"},
		{"script by itself", "<javascript:alert(1)>", "<p>javascript:alert(1)</p>\n"},
		{"entities in a link", "[a](java&#115;cript:alert(1))", "<p>a</p>\n"},
		{"picture", "![a cat](https://tracker.example/x.png)", `<p><a href="https://tracker.example/x.png" rel="noopener noreferrer nofollow ugc" target="_blank">[picture: a cat]</a></p>` + "\n"},
		{"picture of nowhere", `![](data:image/png;base64,AAAA)`, "<p>[picture]</p>\n"},
		{"attributes", `![x" onerror="y](http://a/"b)`, `<p><a href="http://a/%22b" rel="noopener noreferrer nofollow ugc" target="_blank">[picture: x&quot; onerror=&quot;y]</a></p>` + "\n"},
		{"code", "```html\n<i>\n```", "<pre tabindex=\"0\" role=\"group\" aria-label=\"code\"><code>&lt;i&gt;\n</code></pre>\n"},
		{"heading", "# A", "<h4>A</h4>\n"},
		{"turned text", "a\u202eb", "<p>a<mark class=\"odd\" title=\"a character that cannot be seen\">⟨U+202E⟩</mark>b</p>\n"},
		{"control", "a\x1b[2Jb", "<p>a<mark class=\"odd\" title=\"a character that cannot be seen\">⟨U+001B⟩</mark>[2Jb</p>\n"},
		{"emoji stay whole", "👩\u200d🚀 ❤\ufe0f 5\u00a0€", "<p>👩\u200d🚀 ❤\ufe0f 5\u00a0€</p>\n"},
		{"turned text in a query", "[a](https://example.com/?q=\u202eb)", `<p><a href="https://example.com/?q=%E2%9F%A8U+202E%E2%9F%A9b" rel="noopener noreferrer nofollow ugc" target="_blank">a</a></p>` + "\n"},
		{"turned text in an address of mail", "[a](mailto:⟨U+202E⟩b@example.com)", `<p><a href="mailto:%E2%9F%A8U+202E%E2%9F%A9b@example.com" rel="noopener noreferrer nofollow ugc" target="_blank">a</a></p>` + "\n"},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(markdown(c.text)); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestMarkdownTable(t *testing.T) {
	got := string(markdown("| a | b |\n|:-:|--:|\n| 1 | <s> |\n"))
	for _, want := range []string{`<div class="wide" tabindex="0"`, `<th align="center">a</th>`, `&lt;s&gt;</td>`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if strings.Contains(got, "style=") {
		t.Error("the table has a style of its own, which the policy refuses")
	}
}

// TestMarkdownIsBounded: no text of an agent's holds the server up. What takes
// time with the square of its length is shown as it is; the rest of what people
// have found against such libraries takes a fraction of a second here, and the
// bound is for machines that do ten other things.
func TestMarkdownIsBounded(t *testing.T) {
	for piece, plain := range map[string]bool{
		">": true, "- > 1. ": true, "[a](": true, "![a](": true, "_*a": true, "*a_ ": true, "*a ": true, "_a_": true, "*a **a ": true, "+ - ": true, "1. ": true,
		strings.Repeat(">", maxQuotes) + " a\n": false, "> - > - > - a\n": false, "- ": false, "[": false, "`": false, "![": false, "<a ": false,
		"|a": false, "*": false, "12 ": false, "A *word* and _another_ in a sentence that is about as long as people and models like to write them. ": false,
	} {
		begun := time.Now()
		got := string(markdown(strings.Repeat(piece, maxMarkdown/len(piece))))
		if took := time.Since(begun); took > 30*time.Second {
			t.Errorf("%.20q: %s", piece, took)
		}
		if strings.HasPrefix(got, `<p class="plain">`) != plain {
			t.Errorf("%.20q: laid out %v", piece, plain)
		}
	}
	if got := string(markdown(strings.Repeat("*a* <b> ", maxMarkdown/4))); !strings.HasPrefix(got, `<p class="plain">*a* &lt;b&gt; `) {
		t.Errorf("a text that is too long: %.80s", got)
	}
}

// TestLiveIsBounded: an agent that does not stop talking fills no memory of
// ours; its answer is whole when it ends.
func TestLiveIsBounded(t *testing.T) {
	for name, ev := range map[string]beeos.Event{
		"words":     {Kind: beeos.EventDelta, Text: strings.Repeat("x", 64<<10)},
		"thoughts":  {Kind: beeos.EventDelta, Reasoning: strings.Repeat("x", 64<<10)},
		"parts":     {Kind: beeos.EventDelta, Part: json.RawMessage(`{"type":"text","text":"` + strings.Repeat("x", 64<<10) + `"}`)},
		"tools":     {Kind: beeos.EventDelta, Part: json.RawMessage(`{"type":"tool_use","name":"x"}`)},
		"questions": {Kind: beeos.EventAsk, Method: "elicitation/create", Data: json.RawMessage(`{"message":"x"}`)},
	} {
		talk := newTalk("a", "/")
		talk.add(&beeos.Message{ID: "m", Type: beeos.ChatMessage})
		u := talk.byID["m"]
		ev.Turn = "m"
		for i := range 5000 {
			ev.AskID = fmt.Sprint(i)
			talk.take(&ev)
		}
		if size := len(u.Text) + len(u.Thoughts) + len(u.blocks); size > 2*maxLive || len(u.Steps)+len(u.Asked) > maxLive/livePiece {
			t.Errorf("%s: %d bytes, %d steps, %d questions", name, size, len(u.Steps), len(u.Asked))
		}
		talk.take(&beeos.Event{Kind: beeos.EventDelta, Turn: "m", SoFar: true, Text: "anew"})
		if talk.take(&beeos.Event{Kind: beeos.EventDelta, Turn: "m", Text: ", and on"}); u.Text != "anew, and on" {
			t.Errorf("%s: begun anew it is %.40q", name, u.Text)
		}
		if talk.add(&beeos.Message{Type: beeos.AgentReply, InReplyTo: "m", Body: strings.Repeat("y", 2*maxLive)}); len(u.Text) != 2*maxLive {
			t.Errorf("%s: the end has %d bytes", name, len(u.Text))
		}
	}
}

// TestBlocks: a step stands where it was made, if its agent says where.
func TestBlocks(t *testing.T) {
	step := func(name string, at int) *toolStep { return &toolStep{Name: name, at: at} }
	for _, c := range []struct {
		name  string
		text  string
		steps []*toolStep
		want  string
	}{
		{"nothing", "", nil, ""},
		{"text alone", "abc", nil, "abc|"},
		{"unknown place", "abc", []*toolStep{step("x", 0)}, "[x]|abc|"},
		{"between", "ab cd ef", []*toolStep{step("x", 3), step("y", 3), step("z", 6)}, "ab |[x]|[y]|cd |[z]|ef|"},
		{"at the end", "abc", []*toolStep{step("x", 3)}, "abc|[x]|"},
		{"beyond the end, or back", "abc", []*toolStep{step("x", 9), step("y", 2), step("z", 1), step("n", -1)}, "[x]|ab|[y]|[z]|[n]|c|"},
		{"within a letter", "ä", []*toolStep{step("x", 1)}, "[x]|ä|"},
	} {
		got := ""
		for _, b := range (&turn{Text: c.text, Steps: c.steps}).Blocks() {
			if b.Step != nil {
				got += "[" + b.Step.Name + "]|"
			} else {
				got += b.Text + "|"
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
