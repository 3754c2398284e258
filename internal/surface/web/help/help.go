// Package help is the manual inside the program, for everybody who reaches the
// console: the pages of package docs laid out (library.go, layout.go), found by
// their words (search.go), and as Markdown for models, which llms.txt lists.
// Nothing of it is read before somebody first asks.
package help

import (
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

//go:embed templates
var templates embed.FS

// Options is what the room stands on.
type Options struct {
	Pages *page.Server
	Files fs.FS // the manual

	// Where people and programs reach this server, in the place of the usual
	// addresses in lines that are there to be copied.
	PublicURL, MCPURL, A2AURL, RESTURL, GatewayURL string
}

// Help serves the manual.
type Help struct {
	Options
	library func() (*library, error)
}

// Mount adds the templates and routes to the console.
func Mount(opt Options) error {
	h := &Help{Options: opt}
	h.library = sync.OnceValues(func() (*library, error) { return loadLibrary(opt.Files, opt.addresses()) })
	h.Pages.Handle("GET "+root, page.Anyone, h.showContents)
	h.Pages.Handle("GET "+root+"/search", page.Anyone, h.showResults)
	h.Pages.Handle("GET "+root+"/{path...}", page.Anyone, h.showPage)
	h.Pages.Handle("GET /llms.txt", page.Anyone, h.listForModels)
	return h.Pages.AddTemplates(templates)
}

// addresses puts this server's in the place of the usual ones.
func (o *Options) addresses() *strings.Replacer {
	var pairs []string
	for _, of := range []struct{ usual, ours string }{
		{"http://localhost:3000", o.PublicURL},
		{"http://localhost:8094", o.MCPURL},
		{"http://localhost:8092", o.A2AURL},
		{"http://localhost:8095", o.RESTURL},
		{"http://localhost:8083", o.GatewayURL},
	} {
		if of.ours != "" {
			pairs = append(pairs, of.usual, strings.TrimRight(of.ours, "/"))
		}
	}
	return strings.NewReplacer(pairs...)
}

// contentsData is the first page.
type contentsData struct {
	Parts    []*part
	Question string
}

func (h *Help) showContents(*page.Request) (page.Answer, error) {
	l, err := h.library()
	if err != nil {
		return nil, err
	}
	return page.View{Page: "help", Title: "Help", Room: "help", Data: contentsData{Parts: l.parts[:len(l.parts)-1]}}, nil // the decisions have a page of their own
}

// pageData is one page.
type pageData struct {
	*document
	Outline  []section // what there is on the page
	Source   string    // the same as Markdown
	Question string
}

func (h *Help) showPage(r *page.Request) (page.Answer, error) {
	l, err := h.library()
	if err != nil {
		return nil, err
	}
	name, isSource := strings.CutSuffix(r.PathValue("path"), ".md")
	if name == "adr" {
		name = "adr/README"
	}
	d := l.pages[name]
	switch {
	case d != nil && isSource:
		return sendText("text/markdown", l.source(d)), nil
	case d == nil || d == l.contents:
		for _, p := range l.parts {
			if name == p.Anchor {
				return page.Redirect(root+"#"+p.Anchor, ""), nil
			}
		}
		return nil, beeos.Errorf(beeos.NotFound, "the manual has no page %s; %s lists those that it has", safetext.Line(name, 80), root)
	}
	data := pageData{document: d, Source: markdownURL(d.URL())}
	for _, s := range d.Sections[1:] {
		if s.Level <= 3 {
			data.Outline = append(data.Outline, s)
		}
	}
	if len(data.Outline) < 2 {
		data.Outline = nil
	}
	return page.View{Page: "help_page", Title: d.Title, Room: "help", Data: data}, nil
}

// resultsData is what was found.
type resultsData struct {
	Question string
	Results  []result
}

func (h *Help) showResults(r *page.Request) (page.Answer, error) {
	l, err := h.library()
	if err != nil {
		return nil, err
	}
	data := resultsData{Question: safetext.Line(r.FormValue("q"), 200)}
	data.Results = l.index.find(data.Question)
	return page.View{Page: "help_search", Title: "Search help", Room: "help", Data: data}, nil
}

// listForModels writes llms.txt: what there is, each page with one line, and
// last what can be left out.
func (h *Help) listForModels(*page.Request) (page.Answer, error) {
	l, err := h.library()
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString("# BeeOS\n\n> Plug an agent in once; people and programs reach it over MCP, A2A and REST. " +
		"This is the manual of the server that you are reading it from.\n\n" +
		"Every page is also HTML: leave out `.md`. The REST contract is at " + h.RESTURL + "/openapi.json.\n")
	for _, p := range l.parts {
		name := p.Name
		if p.Anchor == decisions {
			name = "Optional" // why it is as it is
		}
		fmt.Fprintf(&b, "\n## %s\n\n", name)
		for _, d := range p.Pages {
			fmt.Fprintf(&b, "- [%s](%s%s): %s\n", d.Title, h.PublicURL, markdownURL(d.URL()), d.About)
		}
	}
	return sendText("text/plain", b.String()), nil
}

func sendText(kind, text string) page.Answer {
	return page.Writer(func(w http.ResponseWriter) error {
		w.Header().Set("Content-Type", kind+"; charset=utf-8")
		_, err := w.Write([]byte(text))
		return err
	})
}

// File is the name of a page's file, for readers who want to change it.
func (d *document) File() string { return path.Join("docs", d.Path+".md") }
