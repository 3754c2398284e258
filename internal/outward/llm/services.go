package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/beeos/beeos/internal/wire/strictjson"
)

// ServicesFile is where the data folder names further services.
const ServicesFile = "models.json"

// Service is one that the operator names besides the one of the settings.
type Service struct {
	Provider string   `json:"provider"`
	URL      string   `json:"url"`
	KeyFile  string   `json:"key_file"` // beside the file that names it, unless the path is absolute
	Models   []string `json:"models"`   // that may be used; empty = all
}

// services are the models of several services as one Model. What stands before
// the first slash of a model's name is the service's; names of the main service,
// which may be nil, have no such thing before them.
type services struct {
	main  Model
	named map[string]namedService
}

type namedService struct {
	Model
	models []string
}

var (
	serviceName  = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)
	errNoService = errors.New("no model service is configured for agents that name no model; set LLM_PROVIDER, or name one of models.json")
)

// OpenServices adds the services that a file names to main, which may be nil. The
// file need not be there; then main is all.
func OpenServices(main Model, path string) (Model, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return main, nil
	}
	var list map[string]Service
	if err == nil {
		list, err = parseServices(text)
	}
	if err != nil {
		return nil, fmt.Errorf("the list of model services %s: %w", path, err)
	}
	all := &services{main: main, named: map[string]namedService{}}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		m, err := list[name].open(name, filepath.Dir(path))
		if err != nil {
			return nil, fmt.Errorf("the model service %q of %s: %w", name, path, err)
		}
		all.named[name] = namedService{m, list[name].Models}
	}
	if len(all.named) == 0 {
		return main, nil
	}
	return all, nil
}

func parseServices(text []byte) (list map[string]Service, err error) {
	if err := strictjson.Check(text); err != nil {
		return nil, err
	}
	var rows map[string]json.RawMessage
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, fmt.Errorf(`%w; it should read {"claude": {"provider": "anthropic", "key_file": "claude.key"}}`, err)
	}
	list = make(map[string]Service, len(rows))
	for name, row := range rows {
		if !serviceName.MatchString(name) {
			return nil, fmt.Errorf("%q is no name for a service; use up to 32 small letters, digits, - and _", name)
		}
		var s Service
		read := json.NewDecoder(strings.NewReader(string(row)))
		read.DisallowUnknownFields()
		if err := read.Decode(&s); err != nil {
			return nil, fmt.Errorf("%q: %w; a service has provider, url, key_file and models", name, err)
		}
		list[name] = s
	}
	return list, nil
}

// open returns the service's model; it does not call it.
func (s Service) open(name, folder string) (Model, error) {
	settings := Settings{Provider: s.Provider, URL: s.URL, Hint: "the key of " + name + " in " + ServicesFile}
	if len(s.Models) > 0 {
		settings.Model = s.Models[0]
	}
	if s.KeyFile != "" {
		path := s.KeyFile
		if !filepath.IsAbs(path) {
			path = filepath.Join(folder, path)
		}
		key, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read its key: %w", err)
		}
		if settings.Key = strings.TrimSpace(string(key)); settings.Key == "" {
			return nil, fmt.Errorf("its key file %s is empty", path)
		}
	}
	return Open(settings)
}

// find returns the service of a model, and the model's name there.
func (s *services) find(model string) (Model, string, error) {
	name, rest, cut := strings.Cut(model, "/")
	service, known := s.named[name]
	switch {
	case !cut || !known: // some services have names with slashes in them
		if s.main == nil {
			return nil, "", errNoService
		}
		return s.main, model, nil
	case len(service.models) > 0 && !slices.Contains(service.models, rest):
		return nil, "", fmt.Errorf("the model service %s has no model %q; %s lists %s", name, rest, ServicesFile, strings.Join(service.models, ", "))
	}
	return service.Model, rest, nil
}

func (s *services) Stream(ctx context.Context, r Request) iter.Seq2[Delta, error] {
	m, name, err := s.find(r.Model)
	if err != nil {
		return func(yield func(Delta, error) bool) { yield(Delta{}, err) }
	}
	r.Model = name
	return m.Stream(ctx, r)
}

// Models lists the models of all services that tell. One that fails does not
// hide those of the others.
func (s *services) Models(ctx context.Context) (all []string, err error) {
	if s.main != nil {
		all, err = Models(ctx, s.main)
	}
	for _, name := range slices.Sorted(maps.Keys(s.named)) {
		models := s.named[name].models
		if len(models) == 0 {
			var failed error
			models, failed = Models(ctx, s.named[name].Model)
			err = cmp.Or(err, failed)
		}
		for _, m := range models {
			if m != "" { // of a service that is given no model in the settings
				all = append(all, name+"/"+m)
			}
		}
	}
	if len(all) > 0 {
		err = nil
	}
	return all, err
}

func (s *services) describe(model string) (provider, name string) {
	m, name, err := s.find(model)
	if err != nil {
		return "", model
	}
	return Describe(m, name)
}
