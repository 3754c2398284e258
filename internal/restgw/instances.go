package restgw

import (
	"context"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/httpd"
)

// An instance is a machine or process of the owner's that serves agents. It
// runs where its owner started it, so what the contract has for machines that
// a cloud runs is empty here, or refused with what to do instead.

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
	all, err := s.DB.Instances(r.Context(), c.UserID)
	if err != nil {
		return err
	}
	found := []instanceView{}
	for _, i := range all {
		if i.RevokedAt.IsZero() {
			if v := s.viewInstance(r.Context(), i); v.fits(r) {
				found = append(found, v)
			}
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

// instance returns the instance of the path if it is the caller's own.
func (s *Surface) instance(r *http.Request, c beeos.Caller) (beeos.Instance, error) {
	id := r.PathValue("id")
	i, err := s.DB.Instance(r.Context(), id)
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return i, err
	}
	if err != nil || i.OwnerID != c.UserID || !i.RevokedAt.IsZero() {
		return i, beeos.Errorf(beeos.NotFound, "you have no instance %q; GET /api/v1/instances lists those you have", id)
	}
	return i, nil
}

func (s *Surface) getInstance(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	i, err := s.instance(r, c)
	if err != nil {
		return err
	}
	httpd.WriteData(w, http.StatusOK, s.viewInstance(r.Context(), i))
	return nil
}

// destroyInstance revokes an instance: its key is no good any more, and what
// only it declared becomes inactive. The process itself is its owner's to end.
func (s *Surface) destroyInstance(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	i, err := s.instance(r, c)
	if err != nil {
		return err
	}
	agents, err := s.agentsOf(r.Context(), c, i.ID)
	if err != nil {
		return err
	}
	if err := s.DB.RevokeInstance(r.Context(), c.UserID, i.ID); err != nil {
		return err
	}
	s.audit(r.Context(), c, "instance.revoke", i.ID, map[string]string{"name": i.Name})
	s.Revoked(i.ID)
	for _, id := range agents {
		s.Changed(id)
	}
	httpd.WriteData(w, http.StatusOK, "instance "+i.ID+" is revoked and disconnected")
	return nil
}

// runInstance answers start, stop and restart.
func (s *Surface) runInstance(_ http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	i, err := s.instance(r, c)
	if err != nil {
		return err
	}
	return beeos.Errorf(beeos.Conflict, "instance %q runs where its owner started it; %s it there, with the program that serves its agents", i.Name, path.Base(r.URL.Path))
}

// deployInstance would make a built-in agent.
func (s *Surface) deployInstance(w http.ResponseWriter, r *http.Request, _ beeos.Caller) error {
	var name *string
	err := read(w, r, settingLimit, false, shape{"name": &name})
	switch {
	case err != nil:
		return err
	case name == nil || *name == "":
		return beeos.Errorf(beeos.MissingParam, "name is required")
	}
	return beeos.Errorf(beeos.Conflict, "this server has no built-in agents yet; connect one of your own with: beeos connect --name NAME --exec ./my-agent")
}
