package jsonline

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
)

// Declaration is what a program or an endpoint says that it offers. It is not
// asked which of it may be called: calls come as messages, with tool and
// arguments, or with method and params.
type Declaration struct {
	DisplayName string           `json:"displayName"`
	Description string           `json:"description"`
	Version     string           `json:"version"`
	Tools       []beeos.Skill    `json:"tools"`
	Resources   []beeos.Resource `json:"resources"`
	Prompts     []beeos.Prompt   `json:"prompts"`
}

// Apply puts the declaration into what the agent shows of itself. What the
// operator has said of the agent stays.
func (d *Declaration) Apply(o *agent.Options) {
	o.DisplayName = cmp.Or(o.DisplayName, d.DisplayName)
	o.Description = cmp.Or(o.Description, d.Description)
	o.Version = cmp.Or(o.Version, d.Version)
	o.Tools, o.Resources, o.Prompts = nil, nil, nil
	for _, t := range d.Tools {
		o.Tools = append(o.Tools, agent.Tool{
			Name: t.Name, Title: t.Title, Description: t.Description, Schema: t.InputSchema, OutputSchema: t.OutputSchema,
			Annotations: t.Annotations, Icons: t.Icons, Execution: t.Execution, Meta: t.Meta, Tags: t.Tags, Hidden: !t.Exposed(),
		})
	}
	for _, r := range d.Resources {
		o.Resources = append(o.Resources, agent.Resource{Resource: r})
	}
	for _, p := range d.Prompts {
		o.Prompts = append(o.Prompts, agent.Prompt{Prompt: p})
	}
}

// Connected lets what is declared wait until the agent is connected for the first
// time: before that there is nobody to tell.
type Connected struct {
	once  sync.Once
	first chan struct{}
}

// Watch returns the options of an agent whose connection is noticed.
func (c *Connected) Watch(o agent.Options) agent.Options {
	c.first = make(chan struct{})
	told := o.Connected
	o.Connected = func(id string) {
		c.once.Do(func() { close(c.first) })
		if told != nil {
			told(id)
		}
	}
	return o
}

// Declare shows callers what d has, once the agent is connected.
func (c *Connected) Declare(ctx context.Context, a *agent.Agent, d *Declaration) error {
	select {
	case <-c.first:
		return a.Change(ctx, d.Apply)
	case <-ctx.Done():
		return nil
	}
}

// IsEmpty reports whether nothing is declared.
func (d *Declaration) IsEmpty() bool {
	return d.DisplayName == "" && d.Description == "" && d.Version == "" && len(d.Tools)+len(d.Resources)+len(d.Prompts) == 0
}

// FileOutput is a file that goes along with an answer: a text, bytes in base64,
// or, of a program on this machine, the path of a file.
type FileOutput struct {
	Name string `json:"name"`
	Kind string `json:"content_type"`
	Text string `json:"text"`
	Data string `json:"data"`
	Path string `json:"path"`
}

// AttachFiles sends the files of s to the caller. Only what runs on this machine
// may name paths; dir is where they begin, "" = nowhere.
func (s *Output) AttachFiles(ctx context.Context, r *agent.Reply, dir string) error {
	for _, f := range s.Attach {
		content, err := f.open(dir)
		if err != nil {
			return fmt.Errorf("a file cannot be attached: %w", err)
		}
		_, err = r.Attach(ctx, cmp.Or(f.Name, filepath.Base(f.Path)), cmp.Or(f.Kind, f.defaultKind()), content)
		content.Close() //nolint:errcheck // it was read
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *FileOutput) defaultKind() string {
	if f.Text != "" {
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

func (f *FileOutput) open(dir string) (io.ReadCloser, error) {
	switch {
	case f.Path != "" && dir == "":
		return nil, errors.New("an endpoint cannot name a path; send text, or data in base64")
	case f.Path != "":
		path := f.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return os.Open(path)
	case f.Name == "":
		return nil, errors.New("it has no name")
	case f.Data != "":
		return io.NopCloser(base64.NewDecoder(base64.StdEncoding, strings.NewReader(f.Data))), nil
	}
	return io.NopCloser(strings.NewReader(f.Text)), nil
}
