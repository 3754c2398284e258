package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// plan is the first line of a run's file: all that is to be done.
type plan struct {
	Version     int                  `json:"version"`
	Run         string               `json:"run"` // names the run in idempotency keys
	Server      string               `json:"server"`
	Key         string               `json:"key"` // how it begins: keys are the server's by credential
	Agent       string               `json:"agent"`
	Against     string               `json:"against"`
	Change      client.ReplayRequest `json:"change"`
	Concurrency int                  `json:"concurrency"`
	Timeout     time.Duration        `json:"timeout"`
	Calls       []string             `json:"calls"`
}

const planVersion = 1

// entry is any other line: a call that is being replayed, or what came of it.
type entry struct {
	Begun  string    `json:"begun,omitempty"` // a call
	At     time.Time `json:"at,omitzero"`
	Result *result   `json:"result,omitempty"`
}

// state is the file of a run. Every line is on disk before what follows from it
// is done: before a replay is asked for, and before it counts as done.
type state struct {
	plan    plan
	begun   map[string]time.Time // that have no result
	results map[string]result
	path    string
	mu      sync.Mutex
	file    *os.File
}

// createState makes the file of a new run; one that is there is not touched.
func createState(path string, p plan) (*state, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // it has what people said
	if errors.Is(err, os.ErrExist) {
		return nil, terminal.Hint(path+" is there already", "go on with it: beeos replay --resume "+terminal.Quote(path)+", or name another file")
	}
	if err != nil {
		return nil, fmt.Errorf("keep what is done: %w", err)
	}
	s := &state{plan: p, begun: map[string]time.Time{}, results: map[string]result{}, path: path, file: f}
	if err := s.write(p); err != nil {
		return nil, err
	}
	return s, syncFolder(filepath.Dir(path))
}

// syncFolder makes a new file's name last.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	_ = d.Sync() // not every system can
	return nil
}

// openState reads the file of a run that was broken off. A last line that was not
// finished is taken away: what it would have said is asked for again.
func openState(path string) (*state, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	s := &state{begun: map[string]time.Time{}, results: map[string]result{}, path: path}
	lines := bufio.NewScanner(bytes.NewReader(text[:whole]))
	lines.Buffer(nil, len(text)+1)
	for n := 0; lines.Scan(); n++ {
		err := s.read(n, lines.Bytes())
		if err != nil {
			return nil, terminal.Hint(fmt.Sprintf("%s is not the file of a replay (line %d: %v)", path, n+1, err), "begin a new one with: beeos replay --agent")
		}
	}
	if s.plan.Version != planVersion {
		return nil, terminal.Hint(path+" is not the file of a replay that this version knows", "begin a new one with: beeos replay --agent")
	}
	if s.file, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
		return nil, err
	}
	if err := s.file.Truncate(int64(whole)); err != nil {
		return nil, err
	}
	_, err = s.file.Seek(int64(whole), 0)
	return s, err
}

func (s *state) read(n int, line []byte) error {
	if n == 0 {
		return json.Unmarshal(line, &s.plan)
	}
	var e entry
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	switch {
	case e.Result != nil:
		s.results[e.Result.Call] = *e.Result
		delete(s.begun, e.Result.Call)
	case e.Begun != "":
		s.begun[e.Begun] = e.At
	}
	return nil
}

// begin notes that a call is about to be replayed. The first time counts: from
// then on the server knows the key.
func (s *state) begin(call string) (first time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, again := s.begun[call]; again {
		return first, nil
	}
	now := time.Now().UTC()
	s.begun[call] = now
	return now, s.write(entry{Begun: call, At: now})
}

// end notes what came of a replay.
func (s *state) end(r result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.begun, r.Call)
	s.results[r.Call] = r
	return s.write(entry{Result: &r})
}

func (s *state) write(v any) error {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = s.file.Write(append(line, '\n'))
	}
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("keep what is done in %s: %w", s.path, err)
	}
	return nil
}

// left are the calls without a result, in the order of the plan.
func (s *state) left() (list []string) {
	for _, id := range s.plan.Calls {
		if _, done := s.results[id]; !done {
			list = append(list, id)
		}
	}
	return list
}
