package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
)

// bom is a list of what a program is made of, as CycloneDX 1.6 has it.
type bom struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Serial     string      `json:"serialNumber"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	At        string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl,omitempty"`
	Hashes     []digest   `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type digest struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// describeAll writes, for every target, what the program says that it was built
// from: its modules and the compiler.
func (r *release) describeAll() error {
	for _, t := range r.targets {
		if err := r.describe(t); err != nil {
			return fmt.Errorf("describe %s: %w", t, err)
		}
	}
	return nil
}

func (r *release) describe(t target) error {
	info, err := buildinfo.ReadFile(r.program(t))
	if err != nil {
		return err
	}
	sum, err := sumOf(r.program(t))
	if err != nil {
		return err
	}
	id := sha256.Sum256([]byte(sum))
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // a UUID of the kind that is made of something
	b := bom{
		Format: "CycloneDX", Spec: "1.6", Version: 1,
		Serial: fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[0:4], id[4:6], id[6:8], id[8:10], id[10:16]),
		Metadata: metadata{At: r.at.Format("2006-01-02T15:04:05Z"), Component: component{
			Type: "application", Ref: "beeos", Name: "beeos", Version: r.version, Hashes: []digest{{"SHA-256", sum}},
			Properties: []property{{"os", t.os}, {"arch", t.arch}},
		}},
		Components: []component{{Type: "platform", Ref: "go", Name: "go", Version: info.GoVersion}},
	}
	for _, m := range info.Deps {
		if m.Replace != nil && m.Replace.Version != "(devel)" { // not by an edited copy of itself (slim.go)
			m = m.Replace
		}
		purl := "pkg:golang/" + m.Path + "@" + url.PathEscape(m.Version)
		b.Components = append(b.Components, component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, PURL: purl})
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.shipped(t, ".sbom.json"), append(text, '\n'), 0o644)
}
