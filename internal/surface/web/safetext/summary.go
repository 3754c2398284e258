package safetext

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// maxSummary is how much of a text a summary is made of, in bytes.
const maxSummary = 4 << 10

// Summary is Line of the words that an agent wrote in Markdown, without the marks.
func Summary(markdown string, most int) string {
	markdown = strings.ToValidUTF8(markdown[:min(len(markdown), maxSummary)], "\uFFFD")
	if isTooComplex(markdown) {
		return Line(markdown, most)
	}
	source := []byte(markdown)
	var b strings.Builder
	err := ast.Walk(converter.Parser().Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if n.Type() == ast.TypeBlock {
			b.WriteByte('\n')
		}
		if entering {
			writeWords(&b, n, source)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return Line(markdown, most)
	}
	return Line(b.String(), most)
}

// writeWords writes what a node says by itself; its children follow.
func writeWords(b *strings.Builder, n ast.Node, source []byte) {
	switch n := n.(type) {
	case *ast.Text:
		b.Write(n.Value(source))
		if n.SoftLineBreak() || n.HardLineBreak() {
			b.WriteByte('\n')
		}
	case *ast.String:
		b.Write(n.Value)
	case *ast.AutoLink:
		b.Write(n.Label(source))
	case *ast.RawHTML:
		b.Write(n.Segments.Value(source))
	case *ast.CodeBlock, *ast.FencedCodeBlock, *ast.HTMLBlock:
		b.Write(n.Lines().Value(source))
	}
}
