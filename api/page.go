package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
	"sync"
)

//go:embed page.html
var pageText string

// Page is the document for people, in HTML. It is made when somebody first looks.
var Page = sync.OnceValues(func() ([]byte, error) { return renderPage(JSON) })

// document is what the page shows of an OpenAPI document.
type document struct {
	Info struct {
		Title, Version, Summary, Description string
	}
	Tags       []struct{ Name, Description string }
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Parameters map[string]parameter
		Responses  map[string]response
		Schemas    map[string]*schema
	}
}

type parameter struct {
	Ref         string `json:"$ref"`
	Name, In    string
	Required    bool
	Description string
	Schema      *schema
}

type response struct {
	Ref         string `json:"$ref"`
	Description string
	Content     map[string]struct{ Schema *schema }
}

type operation struct {
	Tags        []string
	OperationID string
	Summary     string
	Description string
	Parameters  []parameter
	RequestBody *struct {
		Required bool
		Content  map[string]struct{ Schema *schema }
	}
	Responses map[string]response
	Security  *[]map[string][]string

	Method, Path string
}

// renderPage writes a document, which must be JSON, as a page for people.
func renderPage(doc []byte) ([]byte, error) {
	var d document
	if err := json.Unmarshal(doc, &d); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	view, err := d.view()
	if err != nil {
		return nil, err
	}
	t, err := template.New("page").Funcs(template.FuncMap{"text": markup, "type": typeOf}).Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("read the page's template: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, view); err != nil {
		return nil, fmt.Errorf("render the page: %w", err)
	}
	return b.Bytes(), nil
}

// pageView is what the template reads.
type pageView struct {
	document
	Style   template.CSS
	Groups  []group
	Schemas []named
}

type group struct {
	Name, Description string
	Operations        []*operation
}

type named struct {
	Name string
	*schema
}

// Itself is the schema, for a template, which cannot see it by its name.
func (n named) Itself() *schema { return n.schema }

func (d *document) view() (*pageView, error) {
	v := &pageView{document: *d, Style: template.CSS(pageStyle)} //nolint:gosec // our own file
	byTag := map[string][]*operation{}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		item := d.Paths[path]
		var common []parameter
		if raw := item["parameters"]; raw != nil {
			if err := json.Unmarshal(raw, &common); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
		for _, method := range []string{"get", "post", "put", "patch", "delete"} {
			if item[method] == nil {
				continue
			}
			op := &operation{Method: strings.ToUpper(method), Path: path}
			if err := json.Unmarshal(item[method], op); err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			if err := d.resolve(op, common); err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			byTag[op.Tags[0]] = append(byTag[op.Tags[0]], op)
		}
	}
	for _, t := range d.Tags {
		v.Groups = append(v.Groups, group{t.Name, t.Description, byTag[t.Name]})
	}
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		v.Schemas = append(v.Schemas, named{name, d.Components.Schemas[name]})
	}
	return v, nil
}

// resolve puts shared parameters and responses in the place of their names.
func (d *document) resolve(op *operation, common []parameter) error {
	if len(op.Tags) == 0 {
		return fmt.Errorf("it has no tag")
	}
	all := append(slices.Clone(common), op.Parameters...)
	for i, p := range all {
		if p.Ref == "" {
			continue
		}
		found, ok := d.Components.Parameters[lastName(p.Ref)]
		if !ok {
			return fmt.Errorf("there is no parameter %s", p.Ref)
		}
		all[i] = found
	}
	op.Parameters = all
	for code, r := range op.Responses {
		if r.Ref == "" {
			continue
		}
		found, ok := d.Components.Responses[lastName(r.Ref)]
		if !ok {
			return fmt.Errorf("there is no response %s", r.Ref)
		}
		op.Responses[code] = found
	}
	if op.RequestBody != nil {
		for _, c := range op.RequestBody.Content {
			c.Schema.all = d.Components.Schemas
		}
	}
	return nil
}

func lastName(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// Public reports whether the operation needs no credential.
func (op *operation) Public() bool { return op.Security != nil && len(*op.Security) == 0 }

// Kind is the content type of the body, if there is one.
func (op *operation) Kind() string {
	if op.RequestBody != nil {
		for kind := range op.RequestBody.Content {
			return kind
		}
	}
	return ""
}

// Streams reports whether the answer can also come piece by piece.
func (op *operation) Streams() bool {
	content := op.Responses["200"].Content
	_, events := content["text/event-stream"]
	return events && len(content) > 1
}

// Body is an example of the body.
func (op *operation) Body() string {
	if op.Kind() != "application/json" {
		return ""
	}
	body, _ := json.MarshalIndent(op.RequestBody.Content[op.Kind()].Schema.example(), "", "  ") //nolint:errcheck // strings, numbers and maps of them
	return string(body)
}

// Curl is a command that tries the operation.
func (op *operation) Curl() string {
	var b strings.Builder
	b.WriteString("curl ")
	if op.Method != "GET" && (op.Method != "POST" || op.RequestBody == nil) {
		b.WriteString("-X " + op.Method + " ")
	}
	b.WriteString(`"$BEEOS_URL` + op.Path + `"`)
	if !op.Public() {
		b.WriteString(` -H "Authorization: Bearer $BEEOS_KEY"`)
	}
	for _, p := range op.Parameters {
		if p.In == "header" && p.Required {
			b.WriteString(" -H '" + p.Name + ": a-key-of-your-own'")
		}
	}
	if op.RequestBody != nil {
		for _, c := range op.RequestBody.Content {
			body, _ := json.Marshal(c.Schema.example()) //nolint:errcheck // strings, numbers and maps of them
			b.WriteString(" --json '" + string(body) + "'")
		}
	}
	return b.String()
}
