package safetext

import (
	"strings"
	"testing"
	"time"
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
			if got := string(Markdown(c.text)); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestMarkdownTable(t *testing.T) {
	got := string(Markdown("| a | b |\n|:-:|--:|\n| 1 | <s> |\n"))
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
		got := string(Markdown(strings.Repeat(piece, maxMarkdown/len(piece))))
		if took := time.Since(begun); took > 30*time.Second {
			t.Errorf("%.20q: %s", piece, took)
		}
		if strings.HasPrefix(got, `<p class="plain">`) != plain {
			t.Errorf("%.20q: laid out %v", piece, plain)
		}
	}
	if got := string(Markdown(strings.Repeat("*a* <b> ", maxMarkdown/4))); !strings.HasPrefix(got, `<p class="plain">*a* &lt;b&gt; `) {
		t.Errorf("a text that is too long: %.80s", got)
	}
}
