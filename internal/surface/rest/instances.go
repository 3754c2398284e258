package rest

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/beeos/beeos"
	builtinstore "github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/wire/httpd"
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

func (s *Surface) viewInstance(ctx context.Context, i beeos.Instance) instanceView {
	v := instanceView{
		ID: i.ID, OwnerID: i.OwnerID, AgentFramework: framework, ProviderID: provider, HostingType: "self-hosted", Name: i.Name,
		Models: []string{}, Status: instanceStopped, DesiredStatus: instanceRunning, IdentityID: i.ID, Connectivity: "offline",
		Delivery: "message-service", ProviderConfig: map[string]any{}, ConnectionStatus: "disconnected", LastSeenAt: i.LastSeen, CreatedAt: i.CreatedAt,
	}
	switch {
	case s.Connected != nil && s.Connected(ctx, i.ID):
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
func (s *Surface) listInstances(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	number, err := query(r, "page", 0, 0, 1<<31-1)
	if err != nil {
		return err
	}
	size, err := query(r, "pageSize", 50, 0, 200)
	if err != nil {
		return err
	}
	all, err := s.viewInstances(r.Context(), c.UserID)
	if err != nil {
		return err
	}
	found := []instanceView{}
	for _, v := range all {
		if v.fits(r) {
			found = append(found, v)
		}
	}
	total := int64(len(found))
	if size == 0 {
		size = 50
	}
	from := min(max(number-1, 0)*size, total) // pages count from 1; 0 is the first, too
	httpd.WriteJSON(w, http.StatusOK, struct {
		Success bool           `json:"success"`
		Data    []instanceView `json:"data"`
		Total   int64          `json:"total"`
	}{true, found[from:min(from+size, total)], total})
	return nil
}

func (s *Surface) viewInstances(ctx context.Context, owner string) (views []instanceView, err error) {
	all, err := s.DB.Instances.List(ctx, owner)
	if err != nil {
		return nil, err
	}
	rows, err := s.DB.Builtins.List(ctx, owner)
	if err != nil {
		return nil, err
	}
	builtins := map[string]builtinstore.Builtin{}
	for _, row := range rows {
		builtins[row.ID] = row
	}
	for _, i := range all {
		if !i.RevokedAt.IsZero() {
			continue
		}
		v := instanceView{}
		if row, ok := builtins[i.ID]; !ok {
			v = s.viewInstance(ctx, i)
		} else if v, err = s.viewBuiltin(ctx, i, row); err != nil {
			return nil, err
		}
		views = append(views, v)
	}
	return views, nil
}

// fits reports whether the filters of the URL let an instance pass.
func (v *instanceView) fits(r *http.Request) bool {
	q := r.URL.Query()
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

func (s *Surface) getInstance(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	i, err := s.Acts.OwnInstance(r.Context(), c, r.PathValue("id"))
	if err != nil {
		return err
	}
	row, err := s.DB.Builtins.Get(r.Context(), i.OwnerID, i.ID)
	if beeos.CodeOf(err) == beeos.NotFound {
		httpd.WriteData(w, http.StatusOK, s.viewInstance(r.Context(), i))
		return nil
	}
	if err != nil {
		return err
	}
	return s.writeBuiltin(w, r, http.StatusOK, row, "")
}

// destroyInstance takes an instance away, or the built-in agent that it is.
func (s *Surface) destroyInstance(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	id := r.PathValue("id")
	deleted, err := s.Acts.EndInstance(r.Context(), c, id)
	if err != nil {
		return err
	}
	done := "instance " + id + " is revoked and disconnected"
	if deleted {
		done = "built-in agent " + id + " is deleted"
	}
	httpd.WriteData(w, http.StatusOK, done)
	return nil
}
