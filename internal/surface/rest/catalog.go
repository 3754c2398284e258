package rest

import (
	"net/http"
	"regexp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/rest/route"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// What one can deploy here, in the words of clients that choose among clouds:
// the models of the configured service, one region and one provider, both this
// server.

type modelView struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Tier      string `json:"tier"`
	Reasoning bool   `json:"reasoning"`
}

type regionView struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Available bool   `json:"available"`
}

type providerView struct {
	Meta         providerMeta         `json:"meta"`
	Capabilities providerCapabilities `json:"capabilities"`
}

type providerMeta struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Version     string `json:"version"`
}

type providerCapabilities struct {
	LongRunning bool `json:"longRunning"`
	BrowserUse  bool `json:"browserUse"`
	CodeExec    bool `json:"codeExec"`
	FileSystem  bool `json:"fileSystem"`
	CustomImage bool `json:"customImage"`
	Device      bool `json:"device"`
}

const onlyRegion = "local"

func (s *Surface) listDeployModels(r *route.Request) (any, error) {
	views := []modelView{}
	names, err := s.opt.Acts.Builtins.Models(r.Context())
	if err != nil {
		return nil, beeos.Errorf(beeos.AgentServiceUnavailable, "the configured model service does not list its models now; try again later, or name one that you know")
	}
	for _, name := range names {
		views = append(views, modelView{ID: name, Name: name, Tier: "default"})
	}
	return views, nil
}

func (s *Surface) listDeployRegions(*route.Request) (any, error) {
	return []regionView{{onlyRegion, "This server", true}}, nil
}

func (s *Surface) listProviders(*route.Request) (any, error) {
	return []providerView{{
		Meta:         providerMeta{provider, "This server", "Built-in agents, and agents that dial in from where their owners run them.", "1"},
		Capabilities: providerCapabilities{LongRunning: true},
	}}, nil
}

// listOperations answers for a list that is always empty: what is done to an
// instance is done when the answer comes.
func (s *Surface) listOperations(r *route.Request) (any, error) {
	if _, err := s.opt.Acts.OwnInstance(r.Context(), r.Caller, r.PathValue("id")); err != nil {
		return nil, err
	}
	return route.Whole(http.StatusOK, map[string]any{"success": true, "operations": []any{}}), nil
}

// runtimeCapabilities are the families of acts that clients of the contract know.
// One is true where this surface has routes for it.
type runtimeCapabilities struct {
	Lifecycle    bool `json:"agents.lifecycle"`
	Skills       bool `json:"skills"`
	Models       bool `json:"models"`
	Cron         bool `json:"cron"`
	MCP          bool `json:"mcp"`
	Conversation bool `json:"conversation.control"`
}

// getRuntimeCapabilities says what can be done to an instance: its owner runs it,
// or this server does and then deploys, starts, stops and equips it, too.
func (s *Surface) getRuntimeCapabilities(r *route.Request) (any, error) {
	i, err := s.opt.Acts.OwnInstance(r.Context(), r.Caller, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	_, err = s.opt.DB.Builtins.Get(r.Context(), i.OwnerID, i.ID)
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return nil, err
	}
	hosted := err == nil
	return route.Whole(http.StatusOK, map[string]any{
		"success": true, "instanceId": i.ID, "methods": []string{},
		"capabilities": runtimeCapabilities{Lifecycle: hosted, Models: hosted, MCP: hosted, Conversation: true},
	}), nil
}

// operationPath are the routes of a single operation. No list of operations has
// one in it, so they can name nothing.
var operationPath = regexp.MustCompile(`^/api/v1/instances/[^/]+/operations/[^/]+(/cancel|/events)?$`)

// devicePath are the routes of clients that drive computers and phones.
var devicePath = regexp.MustCompile(`^/api/v1/instances/[^/]+/(device|computer|mobile|canvas-sessions|terminal-sessions|methods)(/|$)`)

// refuseUnknownPath answers for what is not on this surface.
func refuseUnknownPath(w http.ResponseWriter, r *http.Request) {
	switch {
	case operationPath.MatchString(r.URL.Path):
		httpd.WriteError(w, r, beeos.Errorf(beeos.NotFound, "there is no such operation: what is done to an instance of this server is done when the answer comes, and GET /api/v1/instances/{id} shows the instance as it is"))
		return
	case devicePath.MatchString(r.URL.Path):
		httpd.WriteError(w, r, beeos.Errorf(beeos.NotFound, "an instance of this server is no computer, phone or terminal that could be driven; talk to its agents instead: POST /api/v1/agents/{agentId}/invoke"))
		return
	}
	httpd.WriteError(w, r, beeos.Errorf(beeos.NotFound, "there is no %s %s on this surface; /docs says what there is", r.Method, r.URL.Path))
}
