package bus

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
)

// TestNewerMessagesAreLeftAlone: a node does not act on a message of a version that
// it cannot know, and who asks with one hears so at once; members and kinds that it
// does not know are no reason to drop a message of its own version.
func TestNewerMessagesAreLeftAlone(t *testing.T) {
	pairs(t, func(t *testing.T, a, b *Bus) {
		ctx := t.Context()
		controls := make(chan Control, 16)
		defer b.OnControl(func(c Control) { controls <- c })()
		got := make(chan Dispatch, 1)
		stop, err := b.Serve("agent_x", func(d Dispatch) bool { got <- d; return true })
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		eventually(t, "a sees the agent on b", func() bool { return a.Present(ctx, "agent_x") })

		send := func(subject, version, data string) {
			t.Helper()
			m := nats.NewMsg(subject)
			m.Data = []byte(data)
			if version != "" {
				m.Header.Set(headerVersion, version)
			}
			if err := a.nc.PublishMsg(m); err != nil {
				t.Fatal(err)
			}
		}
		send(subjectControl, "2", `{"kind":"cancel","id":"of version 2"}`)
		send(subjectControl, "1", `{"kind":"of tomorrow","id":"of version 1","more":{"to":"come"}}`)
		for c := range controls {
			if c.ID == "of version 2" {
				t.Error("a message of a newer version was acted on")
			}
			if c.ID == "of version 1" {
				break
			}
		}

		newer := nats.NewMsg(subjectAgent + "agent_x")
		newer.Header.Set(headerVersion, "2")
		newer.Data = []byte(`{"agent":"agent_x","message":"m"}`)
		if _, err := a.ask(ctx, newer); !errors.Is(err, ErrNobody) || len(got) > 0 {
			t.Errorf("a dispatch of a newer version: %v, %d delivered", err, len(got))
		}
		serving, done := context.WithCancel(ctx)
		served := make(chan error, 1)
		go func() { served <- b.ServeActs(serving, func(context.Context, []byte) []byte { return []byte("done") }) }()
		eventually(t, "the node serves", func() bool { _, err := a.Act(ctx, nil); return err == nil })
		act := nats.NewMsg(subjectAct)
		act.Header.Set(headerVersion, "2")
		if m, err := a.nc.RequestMsgWithContext(ctx, act); !errors.Is(err, nats.ErrNoResponders) && (err != nil || m.Header.Get("Status") == "") {
			t.Errorf("an act of a newer version: %v, %v", m, err)
		}
		done()
		if err := <-served; err != nil {
			t.Error(err)
		}

		same, err := json.Marshal(Dispatch{AgentID: "agent_x", MessageID: "m"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.ask(ctx, &nats.Msg{Subject: subjectAgent + "agent_x", Data: append(same[:len(same)-1], `,"more":1}`...)}); err != nil {
			t.Errorf("a dispatch with more members: %v", err)
		}
		if d := <-got; d.MessageID != "m" {
			t.Errorf("%+v", d)
		}
	})
}
