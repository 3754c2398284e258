package a2a

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/a2a/card"
	"github.com/beeos/beeos/internal/surface/a2a/wire"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const oldCardName = "agent.json" // until 0.3

func isCardName(name string) bool { return name == "agent-card.json" || name == oldCardName }

// serveCard shows an agent to whoever asks. Of a private one strangers learn
// how to prove who they are; others' keys find nothing.
func (g *Gateway) serveCard(w http.ResponseWriter, r *http.Request, agentID string) {
	d, a, err := g.cardDetail(r, agentID)
	var c card.Card
	if err == nil {
		c, err = g.cards.Get(a, d, cardDialect(r))
	}
	if err != nil {
		httpd.WriteError(w, r, err)
		return
	}
	c.Write(w, r, a)
}

// cardDialect: a client of 0.3 says so, or asks where cards were before 1.0.
func cardDialect(r *http.Request) wire.Dialect {
	version, err := wire.ReadVersion(r)
	if strings.HasPrefix(version, "0.3") && err == nil || strings.HasSuffix(r.URL.Path, "/"+oldCardName) {
		return wire.V03
	}
	return wire.V10
}

// cardDetail finds out how much of an agent the request may see.
func (g *Gateway) cardDetail(r *http.Request, agentID string) (card.Detail, *beeos.Agent, error) {
	a, err := g.findAgent(r.Context(), agentID)
	if err != nil || a.Visibility != beeos.VisiblePrivate {
		return card.Public, a, err
	}
	c, err := g.opt.Auth.Authenticate(r, audience)
	switch {
	case beeos.CodeOf(err) == beeos.MissingToken && err != nil:
		return card.Redacted, a, nil
	case err != nil:
		return card.Redacted, nil, err
	case !c.MayReach(a):
		return card.Redacted, nil, unknownAgent()
	}
	return card.Public, a, nil
}

// Preview returns what peers see of an agent, for its owner.
func (g *Gateway) Preview(a *beeos.Agent) (card.Preview, error) { return g.cards.Preview(a) }

// getExtendedCard shows more to those who have proved who they are.
func (o *operation) getExtendedCard(context.Context) (any, error) {
	c, err := o.g.cards.Get(o.agent, card.Extended, o.dialect)
	return json.RawMessage(c.Body), err
}
