// Package api is the contract of the REST surface: openapi.yaml, which people
// edit, and openapi.json, the same for programs, which `go test ./api -update`
// makes of it. page.go and schema.go show it to people: a page to read and try
// (page.html, page.css, page.js) that needs nothing from any other host. The tests of
// internal/surface/rest hold the surface to it.
package api

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
)

// YAML is the document as it is written.
//
//go:embed openapi.yaml
var YAML []byte

// JSON is the same document as programs read it.
//
//go:embed openapi.json
var JSON []byte

//go:embed page.css
var pageStyle string

// PageScript is what Page runs, from /docs/page.js: search, and forms that try
// operations.
//
//go:embed page.js
var PageScript []byte

// PagePolicy is the Content-Security-Policy that lets the one style sheet and
// the one script of Page in, and lets that talk to this server and nobody else.
func PagePolicy() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
