package acp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/bridge/acp/rpc"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// learnChoices notes what a session can be set to. Not all programs tell that of one
// that they go on with.
func (p *process) learnChoices(s *session, got *opened) {
	if len(got.Options) > 0 || len(got.Modes.Available) > 0 {
		p.bridge.offered.Store(got)
	} else if known := p.bridge.offered.Load(); known != nil && s.resumed {
		got = known
	}
	s.options, s.modes, s.chosen = got.Options, nil, ""
	for _, mode := range got.Modes.Available {
		s.modes = append(s.modes, mode.ID)
	}
}

// enterMode has a session that was just opened work in the operator's mode.
func (p *process) enterMode(ctx context.Context, s *session) error {
	mode := p.bridge.Mode
	if mode == "" {
		return nil
	}
	if o := findOption(s.options, "mode"); o != nil {
		return p.setOption(ctx, s, o, mode)
	}
	err := p.peer.Call(ctx, "session/set_mode", map[string]string{"sessionId": s.id, "modeId": mode}, &struct{}{})
	return p.choiceError(err, "mode", mode, s.modes)
}

// chooseModel has a session answer with the model that its caller chose for the
// conversation, or else with the first of those that the operator named.
func (p *process) chooseModel(ctx context.Context, s *session, model string) error {
	offered := p.bridge.Models
	switch {
	case model != "" && !slices.Contains(offered, model):
		return beeos.Errorf(beeos.InvalidParam, "this agent may not use the model %q; choose one of %s", model, strings.Join(offered, ", "))
	case len(offered) == 0:
		return nil
	case model == "":
		model = offered[0]
	}
	if s.chosen == model {
		return nil
	}
	o := findOption(s.options, "model")
	if o == nil && s.resumed {
		p.bridge.log.Warn("a conversation goes on with the model that it had: the program does not tell which there are", "wanted", model)
		return nil
	}
	if o == nil {
		return errors.New("the program behind this agent lets nobody choose its model; whoever runs the bridge should leave out --acp-models")
	}
	ctx, cancel := context.WithTimeout(ctx, upstream.OpenWithin)
	defer cancel()
	if err := p.setOption(ctx, s, o, model); err != nil {
		return err
	}
	s.chosen = model
	return nil
}

// setOption changes a setting of a session.
func (p *process) setOption(ctx context.Context, s *session, o *configOption, value string) error {
	var got struct {
		Options []configOption `json:"configOptions"`
	}
	params := map[string]string{"sessionId": s.id, "configId": o.ID, "value": value}
	if err := p.peer.Call(ctx, "session/set_config_option", params, &got); err != nil {
		return p.choiceError(err, o.Category, value, o.values())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if name := modelOf(got.Options); name != "" {
		s.model = name
	}
	if len(got.Options) > 0 {
		s.options = got.Options
	}
	return nil
}

// choiceError says which choices there would be.
func (p *process) choiceError(err error, what, value string, offered []string) error {
	if _, refused := errors.AsType[*rpc.Error](err); !refused || len(offered) == 0 {
		return p.publicError(err)
	}
	for i, one := range offered {
		offered[i] = upstream.Shorten(one)
	}
	return beeos.Errorf(beeos.InvalidParam, "the program behind this agent does not take the %s %q; it offers %s", what, value, strings.Join(offered[:min(len(offered), 20)], ", "))
}

// findOption returns the setting of a category; nil = there is none.
func findOption(options []configOption, category string) *configOption {
	i := slices.IndexFunc(options, func(o configOption) bool { return o.Category == category && o.ID != "" })
	if i < 0 {
		return nil
	}
	return &options[i]
}

// values are what a setting can be set to. They may stand in groups.
func (o *configOption) values() (all []string) {
	type value struct {
		Value string `json:"value"`
	}
	var listed []struct {
		value
		Options []value `json:"options"`
	}
	if json.Unmarshal(o.Choices, &listed) != nil {
		return nil
	}
	for _, one := range listed {
		for _, v := range append(one.Options, one.value) {
			if v.Value != "" {
				all = append(all, v.Value)
			}
		}
	}
	return all
}
