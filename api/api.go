// Package api is the contract of the REST surface: openapi.yaml, which people
// edit, and what `go test ./api -update` makes of it: openapi.json, which is the
// same for programs, and openapi.html, a page to read and try it (page_test.go
// renders page.html, page.js brings it to life) that needs nothing from any other host. The tests of
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

// Page is the same document for people, in HTML.
//
//go:embed openapi.html
var Page []byte

//go:embed page.css
var pageStyle []byte

// PageScript is what Page runs, from /docs/page.js: search, and forms that try
// operations.
//
//go:embed page.js
var PageScript []byte

// PagePolicy is the Content-Security-Policy that lets the one style sheet and
// the one script of Page in, and lets that talk to this server and nobody else.
func PagePolicy() string {
	sum := sha256.Sum256(pageStyle)
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
