package oauth

import (
	"encoding/base64"
	"html/template"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/access/oauth/protocol"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// look is all that the page needs, and its hash all that its policy allows.
const look = `:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;margin:0}main{max-width:32rem;margin:15vh auto 0;padding:0 1.25rem}h1{font-size:1.4rem}`

var policy = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(auth.Hash(look)) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// stopped is the one page of this server: what a person sees whose browser can
// be sent neither on nor back. Everything else is the console's.
var stopped = template.Must(template.New("stopped").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Not connected</title><style>` + look + `</style></head>
<body><main><h1>Not connected</h1>
<p>{{.}}</p>
<p>Nothing was shared. You can close this page.</p></main></body></html>
`))

// private keeps an answer for a browser out of frames, caches and referrers.
func private(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", policy)
}

// lead sends a browser to where next says, or shows its person what went wrong
// before the client could be told.
func lead(next func(http.ResponseWriter, *http.Request) (location string, err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		location, err := next(w, r)
		if err != nil {
			showError(w, r, err)
			return
		}
		h := w.Header()
		private(h)
		h.Set("Location", location)
		w.WriteHeader(http.StatusFound)
	}
}

func showError(w http.ResponseWriter, r *http.Request, err error) {
	public, status := beeos.Public(err), httpd.StatusOf(err)
	text := public.Message
	if e, ok := err.(*protocol.Error); ok {
		status, text = http.StatusBadRequest, "The app that sent you here made a mistake: "+e.Description+"."
	}
	if status >= http.StatusInternalServerError {
		httpd.Report(r, err)
	}
	httpd.SetRetryAfter(w, public)
	h := w.Header()
	private(h)
	h.Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if err := stopped.Execute(w, text); err != nil {
		httpd.Report(r, err)
	}
}
