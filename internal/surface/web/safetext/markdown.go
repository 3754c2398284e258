package safetext

import (
	"bytes"
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// Limits of what is laid out; text beyond them is shown as it is. Laying out
// takes time that grows with the square of all but the first.
const (
	maxMarkdown = 64 << 10 // bytes
	maxQuotes   = 16       // nested
	maxLists    = 64       // nested on one line
	maxLinks    = 2000
	maxMarks    = 4000 // of emphasis
)

// converter turns Markdown into HTML and lets no HTML of the writer through:
// tags show as text, links lead only to the web or to mail, and pictures become
// links, because loading one would tell its host who reads the page.
var converter = goldmark.New(
	goldmark.WithExtensions(
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), // not by style, which our policy refuses
		extension.Strikethrough, extension.Linkify,
	),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(safeRenderer{}, 1))),
)

// Markdown lays out what an agent wrote.
func Markdown(text string) template.HTML {
	text = Reveal(text)
	var b bytes.Buffer
	if isTooComplex(text) || converter.Convert([]byte(text), &b) != nil {
		b.Reset()
		b.WriteString(`<p class="plain">` + template.HTMLEscapeString(text) + `</p>`)
	}
	marked := invisibleSign.ReplaceAllString(b.String(), `<mark class="odd" title="a character that cannot be seen">$0</mark>`) // attributes have none: see safeRenderer
	return template.HTML(marked)                                                                                                //nolint:gosec // made by our renderer
}

// isTooComplex reports whether laying out a text would take long.
func isTooComplex(text string) bool {
	if len(text) > maxMarkdown || strings.Count(text, "](") > maxLinks || countMarks(text) > maxMarks {
		return true
	}
	for line := range strings.Lines(text) {
		begin := line[:len(line)-len(strings.TrimLeft(line, "> \t-+*.)0123456789"))]
		if strings.Count(begin, ">") > maxQuotes || len(listMarker.FindAllString(begin, maxLists+1)) > maxLists && !ruleLine.MatchString(line) {
			return true
		}
	}
	return false
}

var (
	listMarker = regexp.MustCompile(`[-+*][ \t]|[0-9][.)][ \t]`)
	ruleLine   = regexp.MustCompile(`^[ \t]*(?:(?:-[ \t]*)+|(?:\*[ \t]*)+)\n?$`) // a line across the page
)

// countMarks counts what may begin or end emphasis: the parser compares each
// with those before it.
func countMarks(text string) (n int) {
	last := byte(0)
	for i := range len(text) {
		if c := text[i]; c != last && (c == '*' || c == '_' || c == '~') {
			n++
		}
		last = text[i]
	}
	return n
}

// safeRenderer renders what could do harm, and what needs a name for people who
// do not see it.
type safeRenderer struct{}

func (safeRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindLink, renderLink)
	r.Register(ast.KindAutoLink, renderAutoLink)
	r.Register(ast.KindImage, renderImage)
	r.Register(ast.KindRawHTML, renderInlineHTML)
	r.Register(ast.KindHTMLBlock, renderHTMLBlock)
	r.Register(ast.KindHeading, renderHeading)
	r.Register(ast.KindCodeBlock, renderCode)
	r.Register(ast.KindFencedCodeBlock, renderCode)
	r.Register(east.KindTable, renderTable)
}

// escapeSigns writes an address so that Markdown finds no sign to mark in it:
// the query of an address is as its writer wrote it.
var escapeSigns = strings.NewReplacer("⟨", "%E2%9F%A8", "⟩", "%E2%9F%A9")

func openLink(w util.BufWriter, address []byte) bool {
	target, ok := LinkTarget(string(address))
	if ok {
		fmt.Fprintf(w, `<a href="%s" rel="noopener noreferrer nofollow ugc" target="_blank">`, template.HTMLEscapeString(escapeSigns.Replace(target))) //nolint:errcheck // a buffer
	}
	return ok
}

func renderLink(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	address := n.(*ast.Link).Destination
	if entering {
		openLink(w, address)
	} else if _, ok := LinkTarget(string(address)); ok {
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

// renderImage links to a picture instead of showing it; its text becomes the
// text of the link.
func renderImage(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	address := n.(*ast.Image).Destination
	_, ok := LinkTarget(string(address))
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

func renderInlineHTML(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		for _, line := range n.(*ast.RawHTML).Segments.Sliced(0, n.(*ast.RawHTML).Segments.Len()) {
			w.WriteString(template.HTMLEscapeString(string(line.Value(source)))) //nolint:errcheck // a buffer
		}
	}
	return ast.WalkSkipChildren, nil
}

func renderHTMLBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
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

// renderCode makes a box that can be scrolled with the keyboard.
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
