package rest

import (
	"cmp"
	"context"
	"math"
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
	instancePending  = "pending"      // it has never connected
	instanceStarting = "provisioning" // this server is to run it, and it is not there yet
	instanceRunning  = "running"
	instanceStopped  = "stopped"

	connectivityUnknown = "unknown"
	connectivityOnline  = "online"
	connectivityOffline = "offline"

	reasonNeverConnected = "instance_never_connected"
	reasonDisconnected   = "instance_disconnected"
	haltedByOwner        = "stopped_by_owner"

	framework = "beeos"
	provider  = "self"
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
	HaltReason       string         `json:"haltReason,omitempty"`
	Delivery         string         `json:"delivery"`
	ProviderConfig   map[string]any `json:"providerConfig"`
	ConnectionStatus string         `json:"msConnectionStatus"`
	LastSeenAt       time.Time      `json:"msConnectionUpdatedAt,omitzero"`
	CreatedAt        time.Time      `json:"createdAt"`
	builtinView
}

func (s *Surface) viewInstance(ctx context.Context, i beeos.Instance) instanceView {
	v := instanceView{
		ID: i.ID, OwnerID: i.OwnerID, AgentFramework: framework, ProviderID: provider, HostingType: "self-hosted", Name: i.Name,
		Models: []string{}, Status: instanceStopped, DesiredStatus: instanceRunning, IdentityID: i.ID, Connectivity: connectivityOffline,
		Delivery: "message-service", ProviderConfig: map[string]any{}, ConnectionStatus: "disconnected", LastSeenAt: i.LastSeen, CreatedAt: i.CreatedAt,
	}
	switch {
	case s.opt.Bus.Connected(ctx, i.ID):
		v.Status, v.Connectivity, v.ConnectionStatus = instanceRunning, connectivityOnline, "connected"
	case i.LastSeen.IsZero():
		v.Status, v.Connectivity, v.Reason, v.ConnectionStatus = instancePending, connectivityUnknown, reasonNeverConnected, "unknown"
	default:
		v.Reason = reasonDisconnected
	}
	return v
}

// listInstances lists the caller's instances, oldest first. There are few of
// them, and who is connected is not in the database, so it filters here.
func (s *Surface) listInstances(r *route.Request) (any, error) {
	number, err := r.QueryInt("page", 0, 0, 1<<31-1)
	if err != nil {
		return nil, err
	}
	size, err := r.QueryInt("pageSize", 50, 0, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	found, err := s.viewInstances(r.Context(), r.Caller.UserID)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(v instanceView) bool { return !v.matches(r.URL.Query()) })
	total, size := int64(len(found)), min(cmp.Or(size, 50), 200)
	from := min(max(number-1, 0)*size, total) // pages count from 1; 0 is the first, too
	return route.ListOf(found[from:min(from+size, total)], len(found)), nil
}

func (s *Surface) viewInstances(ctx context.Context, owner string) ([]instanceView, error) {
	all, err := s.opt.DB.Instances.List(ctx, owner)
	if err != nil {
		return nil, err
	}
	rows, err := s.opt.DB.Builtins.List(ctx, owner)
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
		v := s.viewInstance(ctx, i)
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

func (s *Surface) getInstance(r *route.Request) (any, error) {
	i, err := s.opt.Acts.OwnInstance(r.Context(), r.Caller, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	row, err := s.opt.DB.Builtins.Get(r.Context(), i.OwnerID, i.ID)
	if beeos.CodeOf(err) == beeos.NotFound {
		return s.viewInstance(r.Context(), i), nil
	}
	if err != nil {
		return nil, err
	}
	return s.viewBuiltin(r, row, "")
}

// destroyInstance takes an instance away, or the built-in agent that it is.
func (s *Surface) destroyInstance(r *route.Request) (any, error) {
	id := r.PathValue("id")
	deleted, err := s.opt.Acts.EndInstance(r.Context(), r.Caller, id)
	if deleted {
		return "built-in agent " + id + " is deleted", err
	}
	return "instance " + id + " is revoked and disconnected", err
}
