package httpd

import (
	"context"
	"net/http"
	"time"
)

// Check is one thing that must work before this process can serve.
type Check struct {
	Name  string
	Check func(ctx context.Context) error
	Warns bool // it serves all the same, and says so
}

const readyTimeout = 2 * time.Second

// page returns the page that every listener has, or nil when the request is
// the surface's. It is a switch and not a mux because every request passes.
func (h *Handler) page(r *http.Request) http.HandlerFunc {
	switch r.URL.Path {
	case "/healthz":
		return readOnly(h.healthz)
	case "/readyz":
		return readOnly(h.readyz)
	}
	return nil
}

func readOnly(page http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		page(w, r)
	}
}

type health struct {
	Status string `json:"status"`
	Check  string `json:"check,omitempty"`

	Warnings []string `json:"warnings,omitempty"`
}

// healthz says that the process is alive, and nothing about its neighbours:
// restarting us does not repair a database.
func (h *Handler) healthz(w http.ResponseWriter, _ *http.Request) {
	WriteJSON(w, http.StatusOK, health{Status: "ok"})
}

func (h *Handler) isStopping() bool { return h.Stopping != nil && h.Stopping.Load() }

// readyz says whether to send requests here. The body names the check that
// failed, or those that somebody should look at; why they failed is for the log.
func (h *Handler) readyz(w http.ResponseWriter, r *http.Request) {
	if h.isStopping() {
		WriteJSON(w, http.StatusServiceUnavailable, health{Status: "stopping"})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	state := health{Status: "ok"}
	for _, c := range h.Ready {
		if err := c.Check(ctx); err != nil {
			if c.Warns {
				state.Warnings = append(state.Warnings, c.Name)
				continue
			}
			Report(r, err)
			WriteJSON(w, http.StatusServiceUnavailable, health{Status: "unavailable", Check: c.Name})
			return
		}
	}
	WriteJSON(w, http.StatusOK, state)
}
