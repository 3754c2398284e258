package otlp

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
)

// within is how long a span may take to come.
const within = 30 * time.Second

// Span is one that has come.
type Span struct {
	Trace, ID, Parent string
	Name              string
	Kind              string // SERVER, CLIENT, INTERNAL
	Start, End        time.Time
	Attrs             map[string]string // of numbers and lists as they are printed
	Links             []string          // TRACE-SPAN
	Failed            bool
	Words             string            // of the status
	Service           map[string]string // what the process says about itself
}

func newSpan(s *trace.Span, about []*common.KeyValue) Span {
	got := Span{
		Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
		Name: s.GetName(), Kind: strings.TrimPrefix(s.GetKind().String(), "SPAN_KIND_"),
		Start: time.Unix(0, int64(s.GetStartTimeUnixNano())), End: time.Unix(0, int64(s.GetEndTimeUnixNano())),
		Attrs: texts(s.GetAttributes()), Service: texts(about),
		Failed: s.GetStatus().GetCode() == trace.Status_STATUS_CODE_ERROR, Words: s.GetStatus().GetMessage(),
	}
	for _, l := range s.GetLinks() {
		got.Links = append(got.Links, hex.EncodeToString(l.GetTraceId())+"-"+hex.EncodeToString(l.GetSpanId()))
	}
	return got
}

func texts(attrs []*common.KeyValue) map[string]string {
	all := map[string]string{}
	for _, kv := range attrs {
		all[kv.GetKey()] = text(kv.GetValue())
	}
	return all
}

func text(v *common.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	case *common.AnyValue_BoolValue:
		return fmt.Sprint(v.BoolValue)
	case *common.AnyValue_ArrayValue:
		var list []string
		for _, one := range v.ArrayValue.GetValues() {
			list = append(list, text(one))
		}
		return fmt.Sprint(list)
	}
	return fmt.Sprint(v)
}

// All are the spans that have come so far.
func (r *Receiver) All() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.spans)
}

// Await waits until a span of the trace has each of the names, and returns all of
// the trace, in order of their beginnings.
func (r *Receiver) Await(t testing.TB, id string, names ...string) Trace {
	t.Helper()
	late := time.After(within)
	for {
		r.mu.Lock()
		more, all := r.more, slices.Clone(r.spans)
		r.mu.Unlock()
		found := Trace{}
		for _, s := range all {
			if s.Trace == id {
				found = append(found, s)
			}
		}
		missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return found.find(name) != nil })
		if len(missing) == 0 {
			slices.SortStableFunc(found, func(a, b Span) int { return a.Start.Compare(b.Start) })
			return found
		}
		select {
		case <-more:
		case <-late:
			t.Fatalf("no span %q has come; of trace %s there are\n%s\nand of others %d", missing, id, found, len(all)-len(found))
		}
	}
}

// Trace is the spans of one.
type Trace []Span

func (tr Trace) find(name string) *Span {
	for i := range tr {
		if tr[i].Name == name {
			return &tr[i]
		}
	}
	return nil
}

// Span is the one with that name.
func (tr Trace) Span(t testing.TB, name string) Span {
	t.Helper()
	s := tr.find(name)
	if s == nil {
		t.Fatalf("there is no span %q in\n%s", name, tr)
	}
	return *s
}

// Named are those with that name.
func (tr Trace) Named(name string) (found []Span) {
	for _, s := range tr {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

// Gaps are the spans whose parent is not there, apart from those of a parent that
// is known to be elsewhere.
func (tr Trace) Gaps(elsewhere ...string) (gaps []Span) {
	for _, s := range tr {
		there := slices.ContainsFunc(tr, func(p Span) bool { return p.ID == s.Parent })
		if !there && !slices.Contains(elsewhere, s.Parent) {
			gaps = append(gaps, s)
		}
	}
	return gaps
}

// Check complains about ids that are there twice.
func (tr Trace) Check(t testing.TB) {
	t.Helper()
	seen := map[string]string{}
	for _, s := range tr {
		if other, twice := seen[s.ID]; twice {
			t.Errorf("the spans %q and %q have the same id %s", other, s.Name, s.ID)
		}
		seen[s.ID] = s.Name
	}
}

func (tr Trace) String() string {
	var b strings.Builder
	for _, s := range tr {
		fmt.Fprintf(&b, "%s <- %s  %-8s %s  %s  %v\n", s.ID, s.Parent, s.Kind, s.Name, s.End.Sub(s.Start), s.Attrs)
	}
	return b.String()
}
