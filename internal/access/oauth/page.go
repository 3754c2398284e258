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

func page(w http.ResponseWriter, r *http.Request, status int, text string) {
	h := w.Header()
	private(h)
	h.Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if err := stopped.Execute(w, text); err != nil {
		httpd.Report(r, err)
	}
}

// pageFor shows what went wrong before the client could be told.
func pageFor(w http.ResponseWriter, r *http.Request, err error) {
	if e, ok := err.(*protocol.Error); ok {
		page(w, r, http.StatusBadRequest, "The app that sent you here made a mistake: "+e.Description+".")
		return
	}
	public, status := beeos.Public(err), httpd.StatusOf(err)
	httpd.SetRetryAfter(w, public)
	if status >= http.StatusInternalServerError {
		httpd.Report(r, err)
	}
	page(w, r, status, public.Message)
}

// redirect sends a browser on.
func redirect(w http.ResponseWriter, location string) {
	h := w.Header()
	private(h)
	h.Set("Location", location)
	w.WriteHeader(http.StatusFound)
}
