package beeos

import (
	"context"
	"strings"
	"testing"
)

const sampledParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestTraceIsReadStrictly: what is not as W3C Trace Context wants it is no trace.
func TestTraceIsReadStrictly(t *testing.T) {
	for _, bad := range []string{
		"", "00", sampledParent[:54], sampledParent + "0", sampledParent + "-00", strings.ToUpper(sampledParent),
		"ff" + sampledParent[2:], "0g" + sampledParent[2:], strings.Replace(sampledParent, "-", "_", 1),
		"00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-zz", strings.Repeat("0", 4000),
	} {
		if got := ParseTrace(bad, "a=1"); !got.IsZero() || got != (Trace{}) {
			t.Errorf("%q: %+v", bad, got)
		}
	}
	got := ParseTrace(sampledParent, " vendor=x\t, other=y ")
	if got.Parent != sampledParent || got.State != "vendor=x , other=y" || got.ID() != "0af7651916cd43dd8448eb211c80319c" || got.Span() != "b7ad6b7169203331" || !got.IsSampled() {
		t.Errorf("%+v", got)
	}
	for state, want := range map[string]string{strings.Repeat("x", 513): "", "a=\x00": "", "a=é": "", "a=1": "a=1"} {
		if got := ParseTrace(sampledParent, state); got.State != want || got.IsZero() {
			t.Errorf("state %q: %+v", state, got)
		}
	}
	if later := ParseTrace("cc"+sampledParent[2:]+"-what-comes", ""); later.Parent != sampledParent {
		t.Errorf("of a later version: %+v", later)
	}
	for flags, want := range map[string]bool{"00": false, "01": true, "02": false, "03": true, "0b": true, "0a": false} {
		if got := ParseTrace(sampledParent[:53]+flags, ""); got.IsZero() || got.IsSampled() != want {
			t.Errorf("flags %s: %+v", flags, got)
		}
	}
}

func TestTraceTravelsInContexts(t *testing.T) {
	ctx := context.Background()
	if WithTrace(ctx, Trace{}) != ctx || !TraceOf(ctx).IsZero() {
		t.Error("there is a trace where none was")
	}
	in := ParseTrace(sampledParent, "a=1")
	if got := TraceOf(context.WithoutCancel(WithTrace(ctx, in))); got != in {
		t.Errorf("%+v", got)
	}
	if at := in.At("00000000000000aa"); at.ID() != in.ID() || at.Span() != "00000000000000aa" || !at.IsSampled() || at.State != "a=1" {
		t.Errorf("%+v", at)
	}
	if at := (Trace{}).At("00000000000000aa"); !at.IsZero() {
		t.Errorf("%+v", at)
	}
}

// TestNoTraceCostsNothing: contexts without one are looked at and left alone.
func TestNoTraceCostsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if n := testing.AllocsPerRun(100, func() {
		if TraceOf(ctx).IsSampled() {
			t.Error("sampled")
		}
		WithTrace(ctx, ParseTrace("", "")).Err()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
