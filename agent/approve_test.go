package agent

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
)

// approver answers with what Approve returned.
func approver(ctx context.Context, m Message, r *Reply) error {
	err := r.Gate(ctx, Approval{Skill: "files", Tool: "save", Arguments: json.RawMessage(m.Text), Auto: m.ID == "auto"})
	var denied *Denied
	switch {
	case errors.As(err, &denied):
		return r.Send(denied.Error())
	case err != nil:
		return r.Send("error: " + string(beeos.CodeOf(err)))
	}
	return r.Send("saved")
}

func TestApprove(t *testing.T) {
	for _, c := range []struct {
		name string
		made beeos.Frame
		want string
	}{
		{"yes", beeos.Frame{Type: beeos.FrameDecision, Result: json.RawMessage(`{"approved":true}`)}, "saved"},
		{"no", beeos.Frame{Type: beeos.FrameDecision, Result: json.RawMessage(`{"approved":false}`)}, "save was denied"},
		{"no, with a reason", beeos.Frame{Type: beeos.FrameDecision, Result: json.RawMessage(`{"reason":"not today"}`)}, "save was denied: not today"},
		{"nobody", beeos.Frame{Type: beeos.FrameDecision, Result: json.RawMessage(`{"expired":true}`)}, "save was not approved in time"},
		{"impossible", beeos.Frame{Type: beeos.FrameDecision, Error: &beeos.FrameFault{Code: "invalid_param", Message: "no"}}, "error: invalid_param"},
		{"refused frame", beeos.Frame{Type: beeos.FrameError, Error: &beeos.FrameFault{Code: "missing_param", Message: "no"}}, "error: missing_param"},
		{"garbage", beeos.Frame{Type: beeos.FrameDecision, Result: json.RawMessage(`[]`)}, "error: internal_error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newFakeGateway(t)
			conn, _ := g.start(g.options(), approver)
			conn.message("m", `{"a":1}`, beeos.Call{})
			f := conn.expect(beeos.FrameApprove)
			want := beeos.Frame{Type: beeos.FrameApprove, MessageID: "m", RequestID: f.RequestID, Skill: "files", Tool: "save", Arguments: json.RawMessage(`{"a":1}`)}
			if diff := cmp.Diff(want, f); diff != "" || f.RequestID == "" {
				t.Error(diff)
			}
			stranger := c.made
			stranger.MessageID, stranger.RequestID = "m", "another"
			c.made.MessageID, c.made.RequestID = "m", f.RequestID
			conn.send(stranger)
			conn.send(c.made)
			if got := conn.expect(beeos.FrameReply); got.Body != c.want {
				t.Errorf("got %q, want %q", got.Body, c.want)
			}
			conn.ack("m", "")
		})
	}
}

// TestApprovalTellsItsStep: whether somebody was asked, and who decided.
func TestApprovalTellsItsStep(t *testing.T) {
	for name, c := range map[string]struct {
		made beeos.Approved
		want map[string]string
	}{
		"the rules": {beeos.Approved{Approved: true, By: "policy"}, map[string]string{"approval": "went_by_itself"}},
		"yes":       {beeos.Approved{Approved: true, ID: "a", By: "user:u"}, map[string]string{"approval": "approved", "decided_by": "user:u"}},
		"no":        {beeos.Approved{ID: "a", By: "link"}, map[string]string{"approval": "denied", "decided_by": "link"}},
		"nobody":    {beeos.Approved{ID: "a", Expired: true}, map[string]string{"approval": "expired"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newFakeGateway(t)
			conn, _ := g.start(g.options(), func(ctx context.Context, _ Message, r *Reply) error {
				step := r.Step("save", StepTool)
				_ = r.Gate(ctx, Approval{Tool: "save", Step: step}) // a no is told as well
				step.End(nil)
				return r.Send("done")
			})
			conn.message("m", "", beeos.Call{})
			f := conn.expect(beeos.FrameApprove)
			made, err := json.Marshal(c.made)
			if err != nil {
				t.Fatal(err)
			}
			conn.send(beeos.Frame{Type: beeos.FrameDecision, MessageID: "m", RequestID: f.RequestID, Result: made})
			var steps []beeos.Step
			if err := json.Unmarshal(conn.expect(beeos.FrameReply).Steps, &steps); err != nil || len(steps) != 1 {
				t.Fatalf("%+v, %v", steps, err)
			}
			if diff := cmp.Diff(c.want, steps[0].Attributes); diff != "" {
				t.Error(diff)
			}
			conn.ack("m", "")
		})
	}
}

// TestApproveOutlivesOutage: that the question could not be stored is no denial.
func TestApproveOutlivesOutage(t *testing.T) {
	g := newFakeGateway(t)
	conn, _ := g.start(g.options(), approver)
	conn.message("m", `{}`, beeos.Call{})
	first := conn.expect(beeos.FrameApprove)
	conn.send(beeos.Frame{Type: beeos.FrameDecision, MessageID: "m", RequestID: first.RequestID, Error: &beeos.FrameFault{Code: string(beeos.AgentServiceUnavailable), Message: "the database does not answer"}})
	if again := conn.expect(beeos.FrameApprove); again.RequestID != first.RequestID {
		t.Errorf("asked as %s, then as %s", first.RequestID, again.RequestID)
	}
	conn.send(beeos.Frame{Type: beeos.FrameDecision, MessageID: "m", RequestID: first.RequestID, Result: json.RawMessage(`{"approved":true}`)})
	if got := conn.expect(beeos.FrameReply); got.Body != "saved" {
		t.Errorf("got %s", encode(got))
	}
	conn.ack("m", "")
}

// TestApproveOnAnotherConnection: the question goes along, under the same id.
func TestApproveOnAnotherConnection(t *testing.T) {
	g := newFakeGateway(t)
	conn, _ := g.start(g.options(), approver)
	conn.message("auto", `{}`, beeos.Call{})
	first := conn.expect(beeos.FrameApprove)
	if !first.Auto {
		t.Error("not auto")
	}
	conn.ws.CloseNow()
	conn = g.next()
	conn.expect(beeos.FrameWorking)
	conn.message("auto", `{}`, beeos.Call{}) // handed out again
	if again := conn.expect(beeos.FrameApprove); again.RequestID != first.RequestID {
		t.Errorf("asked as %s, then as %s", first.RequestID, again.RequestID)
	}
	conn.send(beeos.Frame{Type: beeos.FrameDecision, MessageID: "auto", RequestID: first.RequestID, Result: json.RawMessage(`{"approved":true}`)})
	if got := conn.expect(beeos.FrameReply); got.Body != "saved" {
		t.Errorf("got %s", encode(got))
	}
	conn.ack("auto", "")
}

// TestApproveByKey: an agent that names its call asks under that name, so that
// after a restart it is the same request.
func TestApproveByKey(t *testing.T) {
	for name, key := range map[string]string{"named": "1-1", "nameless": ""} {
		t.Run(name, func(t *testing.T) {
			g := newFakeGateway(t)
			conn, _ := g.start(g.options(), func(ctx context.Context, _ Message, r *Reply) error {
				return r.Gate(ctx, Approval{Tool: "save", Key: key})
			})
			var ids []string
			for _, m := range []string{"m1", "m2"} {
				conn.message(m, "", beeos.Call{})
				f := conn.expect(beeos.FrameApprove)
				ids = append(ids, f.RequestID)
				conn.send(beeos.Frame{Type: beeos.FrameDecision, MessageID: m, RequestID: f.RequestID, Result: json.RawMessage(`{"approved":true}`)})
				conn.expect(beeos.FrameReply)
				conn.ack(m, "")
			}
			if key != "" && (ids[0] != key || ids[1] != key) || key == "" && ids[0] == ids[1] {
				t.Errorf("asked as %q", ids)
			}
		})
	}
}

// TestApproveKeyInUse: a key that waits is not good for a second call, which
// would hear the decision about the first.
func TestApproveKeyInUse(t *testing.T) {
	g := newFakeGateway(t)
	asked, tried := make(chan struct{}), make(chan error, 1)
	conn, _ := g.start(g.options(), func(ctx context.Context, _ Message, r *Reply) error {
		first := make(chan error, 1)
		go func() { first <- r.Gate(ctx, Approval{Tool: "save", Arguments: 1, Key: "k"}) }() // awaited below
		<-asked
		tried <- r.Gate(ctx, Approval{Tool: "save", Arguments: 2, Key: "k"})
		return <-first
	})
	conn.message("m", "", beeos.Call{})
	f := conn.expect(beeos.FrameApprove)
	close(asked)
	select {
	case err := <-tried:
		if err == nil {
			t.Error("the second call was let through")
		}
	case <-conn.frames:
		t.Error("the second call asks under the key of the first")
	}
	conn.send(beeos.Frame{Type: beeos.FrameDecision, MessageID: "m", RequestID: f.RequestID, Result: json.RawMessage(`{"approved":true}`)})
	if got := conn.expect(beeos.FrameReply); got.IsError {
		t.Errorf("got %s", encode(got))
	}
	conn.ack("m", "")
}
