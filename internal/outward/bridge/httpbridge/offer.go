package httpbridge

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"time"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/jsonline"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// How an endpoint is asked what it offers: until something answers, ever more
// rarely.
const (
	askWithin = 10 * time.Second
	askFirst  = time.Second
	askLast   = time.Minute
)

// learnOffer asks the endpoint once what it offers, with a GET, and shows that.
// Most endpoints know no GET: whatever else they answer means that they say
// nothing.
func (e *endpoint) learnOffer(ctx context.Context, a *agent.Agent, log *slog.Logger) {
	for pause := askFirst; ; pause = min(2*pause, askLast) {
		d, answered := e.fetchOffer(ctx)
		if d != nil {
			if err := e.connected.Declare(ctx, a, d); err != nil && ctx.Err() == nil {
				log.Warn("the gateway was not told what the endpoint offers", "err", err)
			}
		}
		if answered {
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// fetchOffer returns what the endpoint declares, nil if that is nothing, and
// whether it answered at all.
func (e *endpoint) fetchOffer(ctx context.Context) (d *jsonline.Declaration, answered bool) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	req, err := upstream.NewRequest(ctx, http.MethodGet, e.url, nil, e.header, "application/json")
	if err != nil {
		return nil, true
	}
	resp, err := e.http.Do(req)
	if err != nil {
		return nil, false
	}
	defer resp.Body.Close()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || kind != "application/json" {
		return nil, resp.StatusCode < http.StatusInternalServerError
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, upstream.MaxLine))
	var offer jsonline.Declaration
	if err != nil || json.Unmarshal(body, &offer) != nil || offer.IsEmpty() {
		return nil, err == nil
	}
	return &offer, true
}
