package rest

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/surface/rest/route"
)

// An instance is a machine or process of the owner's that serves agents, or a
// built-in agent (deploy.go). The former runs where its owner started it, so
// what the contract has for machines that a cloud runs is empty here, or
// refused with what to do instead.

// Words of an instance's state.
const (
	instanceRunning = "running"
	instanceStopped = "stopped"
	framework       = "beeos"
	provider        = "self"
)

// instanceView is the contract's InstanceDataDTO.
type instanceView struct {
	ID               string         `json:"id"`
	OwnerID          string         `json:"ownerId"`
	AgentFramework   string         `json:"agentFramework"`
	ProviderID       string         `json:"providerId"`
	ExternalID       string         `json:"externalId"`
	OSType           string         `json:"osType"`
	HostingType      string         `json:"hostingType"`
	CloudProvider    string         `json:"cloudProvider"`
	Name             string         `json:"name"`
	ModelPrimary     string         `json:"modelPrimary"`
	Models           []string       `json:"models"`
	Status           string         `json:"status"`
	DesiredStatus    string         `json:"desiredStatus"`
	Endpoint         string         `json:"endpoint"`
	BridgeID         string         `json:"bridgeId"`
	IdentityID       string         `json:"identityId"`
	TotalRunSeconds  int64          `json:"totalRunSeconds"`
	Connectivity     string         `json:"connectivity"`
	Reason           string         `json:"connectivityReason,omitempty"`
	Delivery         string         `json:"delivery"`
	ProviderConfig   map[string]any `json:"providerConfig"`
	ConnectionStatus string         `json:"msConnectionStatus"`
	LastSeenAt       time.Time      `json:"msConnectionUpdatedAt,omitzero"`
	CreatedAt        time.Time      `json:"createdAt"`
	builtinView
}

func (g *Gateway) viewInstance(ctx context.Context, i beeos.Instance) instanceView {
	v := instanceView{
		ID: i.ID, OwnerID: i.OwnerID, AgentFramework: framework, ProviderID: provider, HostingType: "self-hosted", Name: i.Name,
		Models: []string{}, Status: instanceStopped, DesiredStatus: instanceRunning, IdentityID: i.ID, Connectivity: "offline",
		Delivery: "message-service", ProviderConfig: map[string]any{}, ConnectionStatus: "disconnected", LastSeenAt: i.LastSeen, CreatedAt: i.CreatedAt,
	}
	switch {
	case g.opt.Bus.Connected(ctx, i.ID):
		v.Status, v.Connectivity, v.ConnectionStatus = instanceRunning, "online", "connected"
	case i.LastSeen.IsZero():
		v.Reason, v.ConnectionStatus = "it has never connected", "unknown"
	default:
		v.Reason = "its last connection has ended"
	}
	return v
}

// listInstances lists the caller's instances, oldest first. There are few of
// them, and who is connected is not in the database, so it filters here.
func (g *Gateway) listInstances(r *route.Request) (any, error) {
	number, err := r.QueryInt("page", 0, 0, 1<<31-1)
	if err != nil {
		return nil, err
	}
	size, err := r.QueryInt("pageSize", 50, 0, 200)
	if err != nil {
		return nil, err
	}
	found, err := g.viewInstances(r.Context(), r.Caller.UserID)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(v instanceView) bool { return !v.matches(r.URL.Query()) })
	total, size := int64(len(found)), cmp.Or(size, 50)
	from := min(max(number-1, 0)*size, total) // pages count from 1; 0 is the first, too
	return route.ListOf(found[from:min(from+size, total)], len(found)), nil
}

func (g *Gateway) viewInstances(ctx context.Context, owner string) ([]instanceView, error) {
	all, err := g.opt.DB.Instances.List(ctx, owner)
	if err != nil {
		return nil, err
	}
	rows, err := g.opt.DB.Builtins.List(ctx, owner)
	if err != nil {
		return nil, err
	}
	byID := map[string]builtins.Builtin{}
	for _, row := range rows {
		byID[row.ID] = row
	}
	views := []instanceView{}
	for _, i := range all {
		if !i.RevokedAt.IsZero() {
			continue
		}
		v := g.viewInstance(ctx, i)
		if row, ok := byID[i.ID]; ok {
			if err := v.addBuiltin(row); err != nil {
				return nil, err
			}
		}
		views = append(views, v)
	}
	return views, nil
}

// matches reports whether the filters of the URL let an instance pass.
func (v *instanceView) matches(q url.Values) bool {
	for name, value := range map[string]string{
		"status": v.Status, "providerId": v.ProviderID, "agentFramework": v.AgentFramework, "clusterId": "",
	} {
		if want := q.Get(name); want != "" && want != value {
			return false
		}
	}
	want := strings.ToLower(q.Get("search"))
	return strings.Contains(strings.ToLower(v.Name), want) || strings.Contains(v.ID, want)
}

func (g *Gateway) getInstance(r *route.Request) (any, error) {
	i, err := g.opt.Acts.OwnInstance(r.Context(), r.Caller, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	row, err := g.opt.DB.Builtins.Get(r.Context(), i.OwnerID, i.ID)
	if beeos.CodeOf(err) == beeos.NotFound {
		return g.viewInstance(r.Context(), i), nil
	}
	if err != nil {
		return nil, err
	}
	return g.viewBuiltin(r, row, "")
}

// destroyInstance takes an instance away, or the built-in agent that it is.
func (g *Gateway) destroyInstance(r *route.Request) (any, error) {
	id := r.PathValue("id")
	deleted, err := g.opt.Acts.EndInstance(r.Context(), r.Caller, id)
	if deleted {
		return "built-in agent " + id + " is deleted", err
	}
	return "instance " + id + " is revoked and disconnected", err
}
