package mcp

import (
	"context"
	"slices"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/surface/mcp/catalog"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

const subscriptionsMax = 1000 // per session

// setLevel answers logging/setLevel.
func (x *request) setLevel(ctx context.Context, m *wire.Message) ([]byte, error) {
	level, _ := strictjson.StringField(m.Params, "level")
	if !slices.Contains(wire.LogLevels, level) {
		return nil, beeos.Errorf(beeos.InvalidParam, "params.level must be one of debug, info, notice, warning, error, critical, alert, emergency")
	}
	if x.Session != nil {
		if err := x.surface.opt.Sessions.SetLevel(ctx, x.Caller.Principal(), x.Session.Channel, level, x.Session.Expires()); err != nil {
			return nil, err
		}
	}
	return []byte(`{}`), nil
}

// subscribe answers resources/subscribe and resources/unsubscribe.
func (x *request) subscribe(ctx context.Context, m *wire.Message) ([]byte, error) {
	uri, ok := strictjson.StringField(m.Params, "uri")
	if !ok || uri == "" || len(uri) > catalog.URIMax {
		return nil, beeos.Errorf(beeos.MissingParam, "params.uri must name a resource; resources/list has them")
	}
	if x.Session == nil {
		return nil, beeos.Errorf(beeos.InvalidBody, "subscriptions belong to a session: start one with initialize")
	}
	id := x.Session.Channel
	if m.Method == "resources/unsubscribe" {
		if err := x.surface.opt.Sessions.Unsubscribe(ctx, id, uri); err != nil {
			return nil, err
		}
	} else if err := x.watchResource(ctx, id, uri); err != nil {
		return nil, err
	}
	x.surface.opt.Bus.Control(bus.Control{Kind: bus.SessionChanged, ID: id})
	return []byte(`{}`), nil
}

func (x *request) watchResource(ctx context.Context, session, uri string) error {
	if !x.canRead(uri) {
		return wire.ResourceNotFound(uri)
	}
	watched, err := x.surface.opt.Sessions.ListSubscriptions(ctx, session)
	if err != nil {
		return err
	}
	if len(watched) >= subscriptionsMax {
		return beeos.Errorf(beeos.InvalidParam, "a session watches at most %d resources: unsubscribe from some", subscriptionsMax)
	}
	return x.surface.opt.Sessions.Subscribe(ctx, x.Caller.Principal(), session, uri, x.Session.Expires())
}
