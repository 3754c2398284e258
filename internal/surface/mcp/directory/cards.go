package directory

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const (
	serverCardSchema = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
	longestText      = 100 // characters of a title or description, by the schema
)

// server is an agent as an MCP server, on a card and in the registry.
type server struct {
	Schema      string   `json:"$schema"`
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description"`
	Version     string   `json:"version"`
	Remotes     []remote `json:"remotes"`
}

type remote struct {
	Type     string          `json:"type"`
	URL      string          `json:"url"`
	Versions json.RawMessage `json:"supportedProtocolVersions,omitempty"`
}

func (d *Directory) viewServer(r *http.Request, a *beeos.Agent, schema string, versions json.RawMessage) server {
	title := cmp.Or(shorten(a.Definition.DisplayName), a.Name)
	return server{
		Schema: schema, Name: d.namespace() + "/" + a.ID, Title: title, Version: a.Definition.PublicVersion(),
		Description: cmp.Or(shorten(a.Definition.Description), title),
		Remotes:     []remote{{"streamable-http", d.base(r) + "/" + a.ID + "/mcp", versions}},
	}
}

// shorten makes one line of a text, no longer than the schema allows.
func shorten(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= longestText {
		return s
	}
	return string([]rune(s)[:longestText-1]) + "…"
}

// serveCard shows the card of an agent that is not private, or that the reader
// may call. Of all others it says what it says of those that are not there.
func (d *Directory) serveCard(w http.ResponseWriter, r *http.Request, id string) {
	a, err := d.opt.Agents.Get(r.Context(), id)
	if err != nil && beeos.CodeOf(err) != beeos.AgentNotFound {
		httpd.WriteError(w, r, err)
		return
	}
	known := err == nil && a.Active && a.MCPEnabled
	if !known || a.Visibility == beeos.VisiblePrivate {
		c, err := d.reader(r, "/"+id)
		if err != nil {
			d.refuse(w, r, err)
			return
		}
		known = known && c.MayReach(a)
	}
	if !known {
		httpd.WriteError(w, r, beeos.Errorf(beeos.AgentNotFound, "there is no such MCP server that this credential reaches; check its id"))
		return
	}
	write(w, r, mcpCardType, a.Visibility != beeos.VisiblePrivate, d.viewServer(r, a, serverCardSchema, json.RawMessage(wire.SupportedVersions)))
}

// entry is one line of an AI catalog. Drafts call the media type by two names.
type entry struct {
	Identifier  string     `json:"identifier"`
	DisplayName string     `json:"displayName"`
	MediaType   string     `json:"mediaType"`
	Type        string     `json:"type"`
	URL         string     `json:"url"`
	Description string     `json:"description,omitempty"`
	Tags        []string   `json:"tags,omitempty"`
	Version     string     `json:"version,omitempty"`
	UpdatedAt   *time.Time `json:"updatedAt,omitempty"`
}

// serveCatalog lists what the reader may call, each agent as MCP server and as
// A2A peer. What does not fit is in a catalog that this one names.
func (d *Directory) serveCatalog(w http.ResponseWriter, r *http.Request) {
	c, err := d.reader(r, "")
	if err != nil {
		d.refuse(w, r, err)
		return
	}
	found, next, err := d.opt.Acts.Directory(r.Context(), c, act.OfferFilter{After: r.URL.Query().Get("cursor"), Limit: catalogLimit})
	if err != nil {
		httpd.WriteError(w, r, err)
		return
	}
	entries := []entry{}
	for i := range found {
		a := found[i].Agent
		updated := a.UpdatedAt.UTC()
		e := entry{
			DisplayName: cmp.Or(a.Definition.DisplayName, a.Name), Description: a.Definition.Description, Tags: tags(a),
			Version: a.Definition.PublicVersion(), UpdatedAt: &updated,
		}
		e.Identifier, e.MediaType, e.Type, e.URL = d.urn("mcp", a.ID), mcpCardType, mcpCardType, d.base(r)+"/"+a.ID+cardSuffix
		entries = append(entries, e)
		if d.opt.A2AURL == "" {
			continue
		}
		e.Identifier, e.MediaType, e.Type, e.URL = d.urn("a2a", a.ID), a2aCardType, a2aCardType, d.opt.A2AURL+"/"+a.ID+"/.well-known/agent-card.json"
		entries = append(entries, e)
	}
	if next != "" {
		entries = append(entries, entry{
			Identifier: d.urn("catalog", next), DisplayName: "More agents", MediaType: catalogType, Type: catalogType,
			URL: d.base(r) + catalogPath + "?cursor=" + next,
		})
	}
	write(w, r, catalogType, c.Kind == "", map[string]any{
		"specVersion": "1.0", "host": map[string]string{"displayName": "BeeOS at " + d.host(), "identifier": d.host()}, "entries": entries,
	})
}

func (d *Directory) urn(kind, id string) string { return "urn:air:" + d.host() + ":" + kind + ":" + id }

// tags are those of the skills that an agent shows.
func tags(a *beeos.Agent) (all []string) {
	seen := map[string]bool{}
	for i := range a.Definition.Skills {
		sk := &a.Definition.Skills[i]
		if !sk.Exposed() {
			continue
		}
		for _, t := range sk.Tags {
			if !seen[t] {
				seen[t] = true
				all = append(all, t)
			}
		}
	}
	return all
}
