package rest

import (
	"net/http"

	"github.com/beeos/beeos/api"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// serveDocument answers with the contract, for programs and for people. Both
// need no credential: there is nothing in them that the source does not say.
func serveDocument(mux *http.ServeMux) {
	policy := api.PagePolicy()
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "max-age=300")
		w.Write(api.JSON) //nolint:errcheck // the client is gone
	})
	mux.HandleFunc("GET /docs/page.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		w.Header().Set("Cache-Control", "max-age=300")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Write(api.PageScript) //nolint:errcheck // the client is gone
	})
	mux.HandleFunc("GET /docs", func(w http.ResponseWriter, r *http.Request) {
		page, err := api.Page()
		if err != nil {
			httpd.WriteError(w, r, err)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Cache-Control", "max-age=300")
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		w.Write(page) //nolint:errcheck // the client is gone
	})
}
