package help

import (
	"bytes"
	"fmt"
	"html/template"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// converter lays out the manual. It lets no HTML through: what pages have of it
// are comments, marks for the programs that write parts of them.
var converter = goldmark.New(
	goldmark.WithExtensions(
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), // not by style, which the policy refuses
		extension.Strikethrough,
	),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(manualRenderer{}, 1))),
)

// layOut makes a page of its Markdown and takes it apart into sections.
func (l *library) layOut(d *document) {
	source := []byte(d.Markdown)
	tree := converter.Parser().Parse(text.NewReader(source))
	l.prepare(d, tree, source)
	var b bytes.Buffer
	if err := converter.Renderer().Render(&b, source, tree); err != nil { // a buffer takes all
		b.Reset()
		b.WriteString("<pre>" + template.HTMLEscapeString(d.Markdown) + "</pre>")
	}
	d.HTML = template.HTML(b.String()) //nolint:gosec // made by our renderer of our own pages
}

// prepare gives headings their anchors, leads links where they belong, and keeps
// the words of each section.
func (l *library) prepare(d *document, tree ast.Node, source []byte) {
	d.Sections = []section{{Heading: d.Title, Level: 1}}
	seen := map[string]int{}
	var words strings.Builder
	endSection := func() {
		d.Sections[len(d.Sections)-1].Text = strings.Join(strings.Fields(words.String()), " ")
		words.Reset()
	}
	ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { //nolint:errcheck // the function returns none
		if !entering {
			if n.Type() == ast.TypeBlock || n.Kind() == east.KindTableCell {
				words.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			heading := plain(n, source)
			if n.Level > 1 {
				endSection()
				anchor := slug(heading)
				if times := seen[anchor]; times > 0 {
					anchor = fmt.Sprintf("%s-%d", anchor, times)
				}
				seen[slug(heading)]++
				n.SetAttributeString("id", anchor)
				n.SetAttributeString("text", heading)
				d.Sections = append(d.Sections, section{Heading: heading, Anchor: anchor, Level: n.Level})
			}
			return ast.WalkContinue, nil
		case *ast.Link:
			n.Destination = []byte(l.resolve(d, string(n.Destination)))
		case *ast.Image:
			n.Destination = []byte(l.resolve(d, string(n.Destination)))
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				words.Write(line.Value(source))
			}
		case *ast.Text:
			if n.Parent().Kind() != ast.KindHeading {
				words.Write(n.Segment.Value(source))
				if n.SoftLineBreak() || n.HardLineBreak() {
					words.WriteByte(' ')
				}
			}
		}
		return ast.WalkContinue, nil
	})
	endSection()
}

// plain is the text of a node, without marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { //nolint:errcheck // the function returns none
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// slug is a heading's anchor, made as code hosts make it, so that the links of a
// page work in both places.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// manualRenderer renders what needs more than plain HTML.
type manualRenderer struct{}

func (manualRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, renderHeading)
	r.Register(ast.KindImage, renderImage)
	r.Register(ast.KindRawHTML, renderNothing)
	r.Register(ast.KindHTMLBlock, renderNothing)
	r.Register(ast.KindCodeBlock, renderCode)
	r.Register(ast.KindFencedCodeBlock, renderCode)
	r.Register(east.KindTable, renderTable)
}

func renderNothing(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
	return ast.WalkSkipChildren, nil
}

func renderHeading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	level := n.(*ast.Heading).Level
	id, _ := n.AttributeString("id")
	heading, _ := n.AttributeString("text")
	switch {
	case entering && id != nil:
		fmt.Fprintf(w, `<h%d id="%s">`, level, template.HTMLEscapeString(id.(string))) //nolint:errcheck // a buffer
	case entering:
		fmt.Fprintf(w, "<h%d>", level) //nolint:errcheck // a buffer
	case id != nil:
		fmt.Fprintf(w, ` <a class="anchor" href="#%s" aria-label="Link to %s">#</a></h%d>`+"\n", //nolint:errcheck // a buffer
			template.HTMLEscapeString(id.(string)), template.HTMLEscapeString(heading.(string)), level)
	default:
		fmt.Fprintf(w, "</h%d>\n", level) //nolint:errcheck // a buffer
	}
	return ast.WalkContinue, nil
}

// renderImage says what a picture shows and leads to it: the program has none.
func renderImage(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		fmt.Fprintf(w, `<a class="picture" href="%s">Picture: %s</a>`, //nolint:errcheck // a buffer
			template.HTMLEscapeString(string(n.(*ast.Image).Destination)), template.HTMLEscapeString(plain(n, source)))
	}
	return ast.WalkSkipChildren, nil
}

// renderCode makes a box that can be scrolled with the keyboard and copied.
func renderCode(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(source))
	}
	code := template.HTMLEscapeString(b.String())
	fmt.Fprintf(w, `<div class="block"><pre tabindex="0" role="group" aria-label="example"><code>%s</code></pre>`+ //nolint:errcheck // a buffer
		`<button type="button" class="quiet" data-copy="%s" aria-label="Copy this example"><span>Copy</span></button></div>`+"\n",
		code, strings.TrimSuffix(code, "\n"))
	return ast.WalkSkipChildren, nil
}

// renderTable makes a wide table scroll by itself instead of the page.
func renderTable(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		w.WriteString(`<div class="wide" tabindex="0" role="group" aria-label="table"><table>` + "\n") //nolint:errcheck // a buffer
	} else {
		w.WriteString("</table></div>\n") //nolint:errcheck // a buffer
	}
	return ast.WalkContinue, nil
}
