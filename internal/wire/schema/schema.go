// Package schema checks arguments against the JSON Schemas that agents wrote
// for their tools. A schema may be wrong, endless or a bomb, so what a check
// costs is worked out before it runs.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is a tool's compiled inputSchema. An agent wrote it, so it may be
// wrong, endless or a bomb: compile and check answer with an error, never
// with a panic, a fetch or a minute of work.
type Schema struct {
	plain    *plain // nil = it says more than that
	resolved *jsonschema.Resolved
	cost     *cost
}

const (
	schemaMax     = 256 << 10 // bytes
	ComplaintSize = 400       // of what is wrong with arguments; the library repeats them whole
)

func Compile(raw []byte) (s *Schema, err error) {
	defer recovered(&err)
	if len(raw) > schemaMax {
		return nil, fmt.Errorf("it is larger than %d bytes", schemaMax)
	}
	c, err := newCost(raw)
	if err != nil {
		return nil, err
	}
	var js jsonschema.Schema
	if err := json.Unmarshal(raw, &js); err != nil {
		return nil, plainDecodeError(err)
	}
	// Without a loader a $ref to anywhere else is an error: nothing is fetched.
	resolved, err := js.Resolve(&jsonschema.ResolveOptions{})
	if err != nil {
		return nil, err
	}
	return &Schema{newPlain(c.root), resolved, c}, nil
}

// Check reports what is wrong with args, an object that passed the strict
// reader.
func (s *Schema) Check(args []byte) error {
	if s.plain.accepts(args) {
		return nil
	}
	return s.judge(args)
}

// judge has the library say what is wrong.
//
//go:noinline // what is plain does not pay for its frame
func (s *Schema) judge(args []byte) (err error) {
	defer recovered(&err)
	var value any
	if err := json.Unmarshal(args, &value); err != nil {
		return errors.New("a number in the arguments is out of range")
	}
	if !s.cost.affordable(value, len(args)) {
		return errors.New("the arguments are too large to be checked against the tool's inputSchema")
	}
	if err := s.resolved.Validate(value); err != nil {
		return errors.New(s.complaint(err))
	}
	return nil
}

func recovered(err *error) {
	if fault := recover(); fault != nil {
		*err = fmt.Errorf("the schema cannot be used: %.200v", fault)
	}
}

// CheckArguments reports what is wrong with the arguments of a tool that has this
// schema, for whoever calls it once.
func CheckArguments(schema, arguments json.RawMessage) error {
	s, err := Compile(schema)
	if err != nil {
		return fmt.Errorf("its inputSchema cannot be checked: %w", err)
	}
	return s.Check(arguments)
}
