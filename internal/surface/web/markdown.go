package web

import (
	"bytes"
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// What is laid out; other answers are shown as they are. The time that it takes
// grows with the square of all but the first.
const (
	maxMarkdown = 64 << 10 // bytes
	maxQuotes   = 16       // one in the other
	maxLists    = 64       // one in the other, on one line
	maxLinks    = 2000
	maxMarks    = 4000 // of emphasis
)

// layout makes HTML of Markdown in which nothing of the writer's is HTML: tags
// show as text, links lead to the web or to mail and nowhere else, pictures are
// links, because to load one would tell its host who reads this.
var layout = goldmark.New(
	goldmark.WithExtensions(
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), // not by style, which our policy refuses
		extension.Strikethrough, extension.Linkify,
	),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(guarded{}, 1))),
)

// markdown is what an agent wrote, laid out.
func markdown(text string) template.HTML {
	text = spoken(text)
	var b bytes.Buffer
	if tooMuch(text) || layout.Convert([]byte(text), &b) != nil {
		b.Reset()
		b.WriteString(`<p class="plain">` + template.HTMLEscapeString(text) + `</p>`)
	}
	marked := odd.ReplaceAllString(b.String(), `<mark class="odd" title="a character that cannot be seen">$0</mark>`) // attributes have none: see guarded
	return template.HTML(marked)                                                                                      //nolint:gosec // made by our renderer
}

// tooMuch reports whether it would take long to lay a text out.
func tooMuch(text string) bool {
	if len(text) > maxMarkdown || strings.Count(text, "](") > maxLinks || marks(text) > maxMarks {
		return true
	}
	for line := range strings.Lines(text) {
		begin := line[:len(line)-len(strings.TrimLeft(line, "> \t-+*.)0123456789"))]
		if strings.Count(begin, ">") > maxQuotes || len(listForm.FindAllString(begin, maxLists+1)) > maxLists && !ruleForm.MatchString(line) {
			return true
		}
	}
	return false
}

var (
	listForm = regexp.MustCompile(`[-+*][ \t]|[0-9][.)][ \t]`)
	ruleForm = regexp.MustCompile(`^[ \t]*(?:(?:-[ \t]*)+|(?:\*[ \t]*)+)\n?$`) // a line across the page
)

// marks counts what may begin or end emphasis: each is compared with those
// before it.
func marks(text string) (n int) {
	last := byte(0)
	for i := range len(text) {
		if c := text[i]; c != last && (c == '*' || c == '_' || c == '~') {
			n++
		}
		last = text[i]
	}
	return n
}

// spoken is text of a conversation with what would deceive its reader spelt
// out, as beeos.Visible does it for what people agree to. Here the joiners of
// scripts and of emoji and the spaces of typographers stay as they are.
func spoken(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	if !strings.ContainsFunc(s, deceives) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if deceives(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func deceives(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r == '\u200C' || r == '\u200D' || unicode.Is(unicode.Variation_Selector, r) && r < 0xE0000:
		return false
	case unicode.IsSpace(r):
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	}
	return !unicode.IsGraphic(r)
}

// guarded renders what could do harm, and what needs a name for those who do
// not see it.
type guarded struct{}

func (guarded) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindLink, renderLink)
	r.Register(ast.KindAutoLink, renderAutoLink)
	r.Register(ast.KindImage, renderImage)
	r.Register(ast.KindRawHTML, renderTags)
	r.Register(ast.KindHTMLBlock, renderBlock)
	r.Register(ast.KindHeading, renderHeading)
	r.Register(ast.KindCodeBlock, renderCode)
	r.Register(ast.KindFencedCodeBlock, renderCode)
	r.Register(east.KindTable, renderTable)
}

// outward is an address that a link may lead to.
func outward(address []byte) (string, bool) {
	u, err := url.Parse(string(address))
	if err != nil {
		return "", false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		return u.String(), u.Host != ""
	case "mailto":
		return u.String(), true
	}
	return "", false
}

// unmarked writes an address so that markdown finds nothing to mark in it: the
// queries of addresses are as their writers wrote them.
var unmarked = strings.NewReplacer("⟨", "%E2%9F%A8", "⟩", "%E2%9F%A9")

func openLink(w util.BufWriter, address []byte) bool {
	target, ok := outward(address)
	if ok {
		fmt.Fprintf(w, `<a href="%s" rel="noopener noreferrer nofollow ugc" target="_blank">`, template.HTMLEscapeString(unmarked.Replace(target))) //nolint:errcheck // a buffer
	}
	return ok
}

func renderLink(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	address := n.(*ast.Link).Destination
	if entering {
		openLink(w, address)
	} else if _, ok := outward(address); ok {
		w.WriteString("</a>") //nolint:errcheck // a buffer
	}
	return ast.WalkContinue, nil
}

func renderAutoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	link := n.(*ast.AutoLink)
	address := link.URL(source)
	if link.AutoLinkType == ast.AutoLinkEmail && !bytes.HasPrefix(bytes.ToLower(address), []byte("mailto:")) {
		address = append([]byte("mailto:"), address...)
	}
	ok := openLink(w, address)
	w.WriteString(template.HTMLEscapeString(string(link.Label(source)))) //nolint:errcheck // a buffer
	if ok {
		w.WriteString("</a>") //nolint:errcheck // a buffer
	}
	return ast.WalkContinue, nil
}

// renderImage leads to a picture instead of showing it; its text is what the
// link says.
func renderImage(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	address := n.(*ast.Image).Destination
	_, ok := outward(address)
	switch {
	case entering:
		openLink(w, address)
		w.WriteString("[picture") //nolint:errcheck // a buffer
		if n.HasChildren() {
			w.WriteString(": ") //nolint:errcheck // a buffer
		}
	case ok:
		w.WriteString("]</a>") //nolint:errcheck // a buffer
	default:
		w.WriteByte(']') //nolint:errcheck // a buffer
	}
	return ast.WalkContinue, nil
}

func renderTags(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		for _, line := range n.(*ast.RawHTML).Segments.Sliced(0, n.(*ast.RawHTML).Segments.Len()) {
			w.WriteString(template.HTMLEscapeString(string(line.Value(source)))) //nolint:errcheck // a buffer
		}
	}
	return ast.WalkSkipChildren, nil
}

func renderBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		block := n.(*ast.HTMLBlock)
		w.WriteString(`<p class="plain">`) //nolint:errcheck // a buffer
		writeLines(w, source, n)
		if block.HasClosure() {
			w.WriteString(template.HTMLEscapeString(string(block.ClosureLine.Value(source)))) //nolint:errcheck // a buffer
		}
		w.WriteString("</p>\n") //nolint:errcheck // a buffer
	}
	return ast.WalkSkipChildren, nil
}

// renderHeading keeps an answer's headings below those of the page.
func renderHeading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	level := min(n.(*ast.Heading).Level+3, 6)
	if entering {
		fmt.Fprintf(w, "<h%d>", level) //nolint:errcheck // a buffer
	} else {
		fmt.Fprintf(w, "</h%d>\n", level) //nolint:errcheck // a buffer
	}
	return ast.WalkContinue, nil
}

// renderCode makes a box that keys can scroll.
func renderCode(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		w.WriteString(`<pre tabindex="0" role="group" aria-label="code"><code>`) //nolint:errcheck // a buffer
		writeLines(w, source, n)
		w.WriteString("</code></pre>\n") //nolint:errcheck // a buffer
	}
	return ast.WalkSkipChildren, nil
}

func writeLines(w util.BufWriter, source []byte, n ast.Node) {
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		w.WriteString(template.HTMLEscapeString(string(line.Value(source)))) //nolint:errcheck // a buffer
	}
}

func renderTable(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		w.WriteString(`<div class="wide" tabindex="0" role="group" aria-label="table"><table>` + "\n") //nolint:errcheck // a buffer
	} else {
		w.WriteString("</table></div>\n") //nolint:errcheck // a buffer
	}
	return ast.WalkContinue, nil
}
