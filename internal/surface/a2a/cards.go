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
func (s *Surface) serveCard(w http.ResponseWriter, r *http.Request, agentID string) {
	d, a, err := s.cardDetail(r, agentID)
	var c card.Card
	if err == nil {
		c, err = s.cards.Get(a, d, cardForm(r))
	}
	if err != nil {
		httpd.WriteError(w, r, err)
		return
	}
	c.Write(w, r, a)
}

// cardForm: a client may say which version it speaks, or ask where cards were
// before 1.0. Most say nothing before they have read a card.
func cardForm(r *http.Request) card.Form {
	version, err := wire.ReadVersion(r)
	switch {
	case strings.HasSuffix(r.URL.Path, "/"+oldCardName), strings.HasPrefix(version, "0.3") && err == nil:
		return card.Form03
	case strings.HasPrefix(version, "1") && err == nil:
		return card.Form10
	}
	return card.FormBoth
}

// cardDetail finds out how much of an agent the request may see.
func (s *Surface) cardDetail(r *http.Request, agentID string) (card.Detail, *beeos.Agent, error) {
	a, err := s.findAgent(r.Context(), agentID)
	if err != nil || a.Visibility != beeos.VisiblePrivate {
		return card.Public, a, err
	}
	c, err := s.opt.Auth.Authenticate(r, audience)
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
func (s *Surface) Preview(a *beeos.Agent) (card.Preview, error) { return s.cards.Preview(a) }

// getExtendedCard shows more to those who have proved who they are.
func (o *operation) getExtendedCard(context.Context) (any, error) {
	form := card.Form03
	switch o.dialect {
	case wire.V10:
		form = card.Form10
	case wire.V03HTTP: // some of its clients want the schemes of 1.0
		form = card.FormBoth
	}
	c, err := o.surface.cards.Get(o.agent, card.Extended, form)
	return json.RawMessage(c.Body), err
}
