package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// TestRunIsReadAgain as it was written, also when its last line was torn.
func TestRunIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	p := plan{Version: planVersion, Run: "r", Calls: []string{"a", "b", "c"}, Change: client.ReplayRequest{Confirm: true}}
	s, err := createState(path, p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := createState(path, p); err == nil || !strings.Contains(terminal.Sentence(err), "--resume") {
		t.Errorf("a second run in the same file: %v", err)
	}
	for _, id := range []string{"a", "b"} {
		if _, err := s.begin(id); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.end(result{Call: "a", Kind: differs, Diff: "- x\n+ y"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.file.WriteString(`{"result":{"call":"b","ki`); err != nil { // here it was killed
		t.Fatal(err)
	}
	s.file.Close()

	again, err := openState(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.left(); !slices.Equal(got, []string{"b", "c"}) || again.results["a"].Diff != "- x\n+ y" || !again.plan.Change.Confirm {
		t.Errorf("left are %v of %+v", got, again)
	}
	first, err := again.begin("b")
	if err != nil || !first.Equal(s.begun["b"]) {
		t.Errorf("b was begun at %v, %v, and now at %v", s.begun["b"], err, first)
	}
	if err := again.end(result{Call: "b", Kind: same}); err != nil {
		t.Fatal(err)
	}
	again.file.Close()
	if last, err := openState(path); err != nil || !slices.Equal(last.left(), []string{"c"}) {
		t.Errorf("in the end: %v, %v", last, err)
	}
	for name, text := range map[string]string{"empty": "", "other": "{}\n", "text": "hello\n", "version": `{"version":9}` + "\n"} {
		bad := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openState(bad); err == nil || !strings.Contains(terminal.Sentence(err), "is not the file of a replay") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// listing serves n calls, of which each tenth is a replay.
func listing(t *testing.T, n int) *client.Client {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, _ := strconv.Atoi(r.URL.Query().Get("since"))
		type row struct {
			ID      string `json:"id"`
			Surface string `json:"surface"`
		}
		page := struct {
			Calls []row  `json:"calls"`
			Next  string `json:"next_since,omitempty"`
		}{}
		for i := from; i < min(n, from+100); i++ {
			page.Calls = append(page.Calls, row{fmt.Sprintf("%05d", i), map[bool]string{true: "replay", false: "rest"}[i%10 == 0]})
		}
		if from+100 < n {
			page.Next = strconv.Itoa(from + 100)
		}
		if err := json.NewEncoder(w).Encode(map[string]any{"success": true, "data": page}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(srv.Close)
	return client.New(srv.URL, "k")
}

// TestSampleIsEven, and the same for the same seed.
func TestSampleIsEven(t *testing.T) {
	cl := listing(t, 2000)
	draw := func(sample int, seed uint64) []string {
		t.Helper()
		got, err := (&Cmd{Sample: sample, Seed: seed}).drawSample(t.Context(), cl, "a")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	one := draw(300, 1)
	if !slices.Equal(one, draw(300, 1)) {
		t.Error("the same seed draws others")
	}
	if slices.Equal(one, draw(300, 2)) {
		t.Error("another seed draws the same")
	}
	quarters := [4]int{}
	for _, id := range one {
		n, err := strconv.Atoi(id)
		if err != nil || n%10 == 0 {
			t.Fatalf("%s is in the sample, %v", id, err)
		}
		quarters[n/500]++
	}
	for i, n := range quarters {
		if n < 45 || n > 105 { // 75, give or take four times the spread
			t.Errorf("quarter %d has %d of 300", i, n)
		}
	}
	if all := draw(5000, 1); len(all) != 1800 || len(slices.Compact(all)) != 1800 {
		t.Errorf("all are %d", len(all))
	}
}

// TestRefusals: what stands in the way of one replay is its result, what stands
// in the way of all stops the run.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		err  error
		want kind
	}{
		{beeos.Errorf(beeos.ConfirmationRequired, "x"), skipped},
		{beeos.Errorf(beeos.Conflict, "x"), failed},
		{beeos.Errorf(beeos.InvalidParam, "x"), failed},
		{beeos.Errorf(beeos.AgentOffline, "x"), ""},
		{beeos.Errorf(beeos.AgentNotFound, "x"), ""},
		{beeos.Errorf(beeos.InvalidToken, "x"), ""},
		{errors.New("x"), ""},
	} {
		got, err := result{Call: "a"}.refused(t.Context(), c.err)
		if got.Kind != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%v: %+v, %v", c.err, got, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := (result{}).refused(ended, beeos.Errorf(beeos.Conflict, "x")); err == nil || got.Kind != "" {
		t.Errorf("when it is interrupted: %+v, %v", got, err)
	}
}

// TestStepsAreOfOneCallAsItWas: what was done until a step answers no other
// request, and no other agent has done it.
func TestStepsAreOfOneCallAsItWas(t *testing.T) {
	for _, c := range []struct {
		cmd Cmd
		ok  bool
	}{
		{Cmd{Request: "a", AtStep: 2}, true},
		{Cmd{Request: "a", AtStep: -1}, false},
		{Cmd{Agent: "a", AtStep: 2}, false},
		{Cmd{Request: "a", AtStep: 2, Edit: true}, false},
		{Cmd{Request: "a", AtStep: 2, Against: "b"}, false},
	} {
		c.cmd.Sample, c.cmd.Concurrency = 1, 1
		if err := c.cmd.Validate(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.cmd, err)
		}
	}
}

// TestOldReplaysAreNotRepeated: after a day the server has forgotten the key.
func TestOldReplaysAreNotRepeated(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		fmt.Fprint(w, `{"success":true,"data":{"id":"a"}}`)
	}))
	defer srv.Close()
	r := &run{state: &state{begun: map[string]time.Time{"a": time.Now().Add(-keysLast - time.Minute)}}, cl: client.New(srv.URL, "k")}
	if got, err := r.replay(t.Context(), "a"); err != nil || got.Kind != failed || !strings.Contains(got.Why, "not known") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestReport(t *testing.T) {
	s := &state{path: "run.jsonl", plan: plan{Calls: []string{"gone"}}, results: map[string]result{"gone": result{Call: "gone"}.failed("it is gone")}}
	for i := range 100 {
		id := fmt.Sprint("call", i)
		s.plan.Calls = append(s.plan.Calls, id)
		r := result{Call: id, Replay: "r" + id, Kind: same, Original: measured{Outcome: "ok", TookMS: float64(i + 1), InputTokens: 2}, Repeat: measured{Outcome: "ok", TookMS: 2 * float64(i+1), OutputTokens: 3}}
		if i < 30 {
			r.Kind, r.Diff = differs, "- a\n+ b"
		}
		s.results[id] = r
	}
	rep := newReport(s)
	if rep.Original != (totals{50, 95, 5050, 200, 0}) || rep.Repeat != (totals{100, 190, 10100, 0, 300}) {
		t.Errorf("%+v, %+v", rep.Original, rep.Repeat)
	}
	var out strings.Builder
	if err := rep.print(terminal.New(nil, &out, nil)); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if strings.Count(text, "    + b\n") != shownDiffs || !strings.Contains(text, "and 10 more, in run.jsonl") ||
		!strings.Contains(text, "101 calls: 70 the same, 30 differ, 1 failed\n") || !strings.Contains(text, "    it is gone\n") {
		t.Error(text)
	}
}

// TestStrangersTextIsHarmless where both answers are shown.
func TestStrangersTextIsHarmless(t *testing.T) {
	call := func(text string) *client.CallDetail {
		return &client.CallDetail{Call: client.Call{Outcome: "ok"}, Reply: &client.CallReply{Text: text}}
	}
	for _, texts := range [][2]string{{"a\x1b[2J", "a\x1b[2J"}, {"a\x1b[2J\nb", "c\nb\x1b[2J"}} {
		var out strings.Builder
		p := newPair(call(texts[0]), call(texts[1]))
		if err := p.print(terminal.New(nil, &out, nil)); err != nil || strings.Contains(out.String(), "\x1b[2J") {
			t.Errorf("%q, %v", out.String(), err)
		}
	}
}

// TestPersonSeesHowFarItIs: the bar is full when all is done, counts what an earlier
// run had done, without taking it for the speed of this one, and ends with its line.
func TestPersonSeesHowFarItIs(t *testing.T) {
	var seen strings.Builder
	watched := &terminal.Terminal{Err: &seen, Person: true}
	before := map[string]result{"a": {Kind: same}, "b": {Kind: failed}}
	p := startProgress(watched, 5, before, true) // a person is told, also with --json
	for _, k := range []kind{same, differs, skipped} {
		p.lastBar = time.Time{} // long ago
		p.count(result{Kind: k})
	}
	p.stop()
	bars := strings.Split(seen.String(), "\r\x1b[K")
	if len(bars) != 4 || bars[0] != "" {
		t.Fatalf("%d bars: %q", len(bars)-1, bars)
	}
	for i, want := range []string{
		"[==================            ] 3 of 5: 2 the same, 0 differ, 1 failed, about 0s left",
		"[========================      ] 4 of 5: 2 the same, 1 differ, 1 failed, about 0s left",
		"[==============================] 5 of 5: 2 the same, 1 differ, 1 failed, 1 left out\n",
	} {
		if bars[i+1] != want {
			t.Errorf("bar %d is %q, want %q", i+1, bars[i+1], want)
		}
	}

	seen.Reset()
	p = startProgress(watched, 10_000, before, false)
	for range 9_998 {
		p.count(result{Kind: same})
	}
	p.stop()
	if n := strings.Count(seen.String(), "\r"); n < 2 || n > 100 || !strings.HasSuffix(seen.String(), "] 10000 of 10000: 9999 the same, 0 differ, 1 failed\n") {
		t.Errorf("%d bars in a moment, the last of them %q", n, seen.String()[strings.LastIndex(seen.String(), "\r"):])
	}

	seen.Reset()
	p = startProgress(&terminal.Terminal{Err: &seen}, 20, before, false) // nobody watches: a line for each tenth to come
	for range 18 {
		p.count(result{Kind: same})
	}
	p.stop()
	if lines := strings.Split(strings.TrimSpace(seen.String()), "\n"); len(lines) != 9 || !strings.Contains(lines[0], "4 of 20") || strings.Contains(seen.String(), "\r") {
		t.Errorf("%d lines, the first of them %q", len(lines), lines[0])
	}
}
