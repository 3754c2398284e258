package directory

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const (
	serverSchema   = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
	registryMeta   = "io.modelcontextprotocol.registry/official"
	latest         = "latest"
	registryAtOnce = 30
)

// listing is a server with what the registry knows of it.
type listing struct {
	Server server               `json:"server"`
	Meta   map[string]published `json:"_meta"`
}

type published struct {
	Status      string    `json:"status"`
	PublishedAt time.Time `json:"publishedAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
	IsLatest    bool      `json:"isLatest"` // there is no other: an agent has one version at a time
}

type listingPage struct {
	Servers  []listing    `json:"servers"`
	Metadata listingCount `json:"metadata"`
}

type listingCount struct {
	NextCursor string `json:"nextCursor,omitempty"`
	Count      int    `json:"count"`
}

// serveRegistry answers what clients ask an MCP registry.
func (d *Directory) serveRegistry(w http.ResponseWriter, r *http.Request) {
	c, err := d.reader(r, "")
	if err == nil && c.Kind == "" {
		err = beeos.Errorf(beeos.MissingToken, "the registry shows each reader what they may call: send a key or an access token")
	}
	if err != nil {
		d.refuse(w, r, err)
		return
	}
	path := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.EscapedPath(), registryPath), "/"), "/")
	var v any
	switch {
	case len(path) == 1 && path[0] == "":
		v, err = d.listServers(r, c)
	case len(path) == 2 && path[1] == "versions":
		v, err = d.listVersions(r, c, path[0], latest)
	case len(path) == 3 && path[1] == "versions":
		var page listingPage
		if page, err = d.listVersions(r, c, path[0], path[2]); err == nil {
			v = page.Servers[0]
		}
	default:
		err = notListed()
	}
	if err != nil {
		httpd.WriteError(w, r, err)
		return
	}
	write(w, r, "application/json", false, v)
}

func notListed() error {
	return beeos.Errorf(beeos.NotFound, "server not found; GET %s lists those that this credential reaches", registryPath)
}

func (d *Directory) listServers(r *http.Request, c beeos.Caller) (page listingPage, err error) {
	q := r.URL.Query()
	f := act.OfferFilter{Words: q.Get("search"), After: q.Get("cursor"), Limit: registryAtOnce}
	if s := q.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return page, beeos.Errorf(beeos.InvalidParam, "limit is a number from 1 to %d", registryLimit)
		}
		f.Limit = min(n, registryLimit)
	}
	if s := q.Get("updated_since"); s != "" {
		if f.Since, err = time.Parse(time.RFC3339, s); err != nil {
			return page, beeos.Errorf(beeos.InvalidParam, "updated_since is a time such as 2026-01-02T15:04:05Z")
		}
	}
	if f.Version = q.Get("version"); f.Version == latest {
		f.Version = ""
	}
	found, next, err := d.opt.Acts.Directory(r.Context(), c, f)
	if err != nil {
		return page, err
	}
	page.Servers, page.Metadata = []listing{}, listingCount{next, len(found)}
	for i := range found {
		page.Servers = append(page.Servers, d.viewListing(r, found[i].Agent))
	}
	return page, nil
}

// listVersions has the one version of a server, if it is the one that is asked for.
func (d *Directory) listVersions(r *http.Request, c beeos.Caller, escapedName, escapedVersion string) (page listingPage, err error) {
	name, err := url.PathUnescape(escapedName)
	if err != nil {
		return page, notListed()
	}
	version, err := url.PathUnescape(escapedVersion)
	id, ours := strings.CutPrefix(name, d.namespace()+"/")
	if err != nil || !ours {
		return page, notListed()
	}
	a, err := d.opt.Agents.Get(r.Context(), id)
	switch {
	case err != nil && beeos.CodeOf(err) != beeos.AgentNotFound:
		return page, err
	case err != nil, !a.Active, !a.MCPEnabled, !c.MayReach(a), version != latest && version != a.Definition.PublicVersion():
		return page, notListed()
	}
	return listingPage{Servers: []listing{d.viewListing(r, a)}, Metadata: listingCount{Count: 1}}, nil
}

func (d *Directory) viewListing(r *http.Request, a *beeos.Agent) listing {
	return listing{
		Server: d.viewServer(r, a, serverSchema, nil),
		Meta:   map[string]published{registryMeta: {"active", a.CreatedAt.UTC(), a.UpdatedAt.UTC(), true}},
	}
}
