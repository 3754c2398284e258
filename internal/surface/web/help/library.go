package help

import (
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// part is a chapter of the manual.
type part struct {
	Name, Anchor string
	About        string
	Groups       []group
	Pages        []*document // those of all groups
}

// group is what belongs together within a part; most parts have one, without a
// name.
type group struct {
	Name  string
	Pages []*document
}

// document is one page of the manual.
type document struct {
	Path     string // below /help/: how-to/webhooks
	Title    string
	About    string // one line, of the table of contents
	Part     *part  // nil = the table of contents itself
	Markdown string
	HTML     template.HTML
	Sections []section
	Prev     *document
	Next     *document
}

// section is a heading and what stands below it, up to the next one.
type section struct {
	Heading string
	Anchor  string // "" = the top of the page
	Level   int
	Text    string
}

// URL is where a page is served.
func (d *document) URL() string {
	if d.Path == contents {
		return root
	}
	return root + "/" + strings.TrimSuffix(d.Path, "/README")
}

const (
	root     = "/help"
	contents = "README"

	decisions = "decisions" // the part that is read last

	// repository has what the manual names and the program does not carry:
	// pictures, examples, the files of deploy/.
	repository = "https://github.com/beeos/beeos/blob/main/"
)

// library is the whole manual.
type library struct {
	contents *document
	parts    []*part
	pages    map[string]*document // by path
	index    *index
}

var (
	partLine  = regexp.MustCompile(`^## (.+)$`)
	groupLine = regexp.MustCompile(`^### (.+)$`)
	pageLine  = regexp.MustCompile(`^- \[([^\]]+)\]\(([^)]+)\.md\): (.+)$`)
	adrLine   = regexp.MustCompile(`^\| \[(\d+)\]\(([^)]+)\.md\) \| (.+) \|$`)
)

// loadLibrary reads and lays out every page that the table of contents lists.
// addresses stand in the place of the usual ones where a reader copies lines.
func loadLibrary(files fs.FS, addresses *strings.Replacer) (*library, error) {
	l := &library{pages: map[string]*document{}}
	if err := l.readContents(files); err != nil {
		return nil, err
	}
	if err := l.readDecisions(files); err != nil {
		return nil, err
	}
	for _, d := range l.pages {
		if d.Path != "reference/configuration" && !strings.HasPrefix(d.Path, "adr/") { // the defaults stay the defaults
			d.Markdown = addresses.Replace(d.Markdown)
		}
		l.layOut(d)
	}
	var last *document
	for _, p := range l.parts {
		for _, d := range p.Pages {
			if d.Prev = last; last != nil {
				last.Next = d
			}
			last = d
		}
	}
	l.index = newIndex(l)
	return l, nil
}

// readContents reads the table of contents and the pages that it lists.
func (l *library) readContents(files fs.FS) error {
	var err error
	if l.contents, err = l.read(files, contents, nil, ""); err != nil {
		return err
	}
	var p *part
	for line := range strings.Lines(l.contents.Markdown) {
		line = strings.TrimSpace(line)
		if m := partLine.FindStringSubmatch(line); m != nil {
			p = &part{Name: m[1], Anchor: slug(m[1])}
			l.parts = append(l.parts, p)
			continue
		}
		if m := groupLine.FindStringSubmatch(line); m != nil && p != nil {
			p.Groups = append(p.Groups, group{Name: m[1]})
			continue
		}
		if m := pageLine.FindStringSubmatch(line); m != nil && p != nil {
			if _, err := l.read(files, m[2], p, m[3]); err != nil {
				return err
			}
			continue
		}
		if p != nil && line != "" {
			p.About = strings.TrimSpace(p.About + " " + line)
		}
	}
	return nil
}

// readDecisions adds the decisions, which have a table of contents of their own.
func (l *library) readDecisions(files fs.FS) error {
	list := l.pages["adr/README"]
	if list == nil {
		return fmt.Errorf("the table of contents does not list the decisions")
	}
	p := &part{Name: "Decisions", Anchor: decisions}
	for line := range strings.Lines(list.Markdown) {
		if m := adrLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			if _, err := l.read(files, "adr/"+m[2], p, m[3]); err != nil {
				return err
			}
		}
	}
	l.parts = append(l.parts, p)
	return nil
}

func (l *library) read(files fs.FS, name string, p *part, about string) (*document, error) {
	text, err := fs.ReadFile(files, name+".md")
	if err != nil {
		return nil, fmt.Errorf("read the manual: %w", err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	d := &document{Path: name, Title: strings.ReplaceAll(strings.TrimPrefix(first, "# "), "`", ""), About: about, Part: p, Markdown: string(text)}
	l.pages[name] = d
	if p != nil {
		p.add(d)
	}
	return d, nil
}

func (p *part) add(d *document) {
	p.Pages = append(p.Pages, d)
	if len(p.Groups) == 0 {
		p.Groups = []group{{}}
	}
	last := &p.Groups[len(p.Groups)-1]
	last.Pages = append(last.Pages, d)
}

// resolve returns where a link of a page leads, on this server if the manual has
// the page, else in the repository.
func (l *library) resolve(from *document, target string) string {
	file, fragment, _ := strings.Cut(target, "#")
	if file == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") || strings.HasPrefix(target, "/") {
		return target
	}
	name := path.Join(path.Dir(from.Path), file)
	if d := l.pages[strings.TrimSuffix(name, ".md")]; d != nil {
		if fragment != "" {
			return d.URL() + "#" + fragment
		}
		return d.URL()
	}
	address := repository + path.Join("docs", name)
	if fragment != "" {
		address += "#" + fragment
	}
	return address
}

var markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// source returns a page's Markdown, with links that also work where it is
// served: to the Markdown of other pages, and to the repository.
func (l *library) source(d *document) string {
	return markdownLink.ReplaceAllStringFunc(d.Markdown, func(link string) string {
		target := link[2 : len(link)-1]
		to := l.resolve(d, target)
		if strings.HasPrefix(to, root) && !strings.HasPrefix(target, "/") {
			return "](" + markdownURL(to) + ")"
		}
		return "](" + to + ")"
	})
}

// markdownURL is where the Markdown of a page of ours is served.
func markdownURL(to string) string {
	address, fragment, found := strings.Cut(to, "#")
	switch address {
	case root:
		address = root + "/README"
	case root + "/adr":
		address = root + "/adr/README"
	}
	address += ".md"
	if found {
		address += "#" + fragment
	}
	return address
}
