// Package api is the contract of the REST surface: openapi.yaml, which people
// edit, openapi.json, which is the same for programs (`go test ./api -update`
// writes it), and a page to read it (page.go, page.html) that needs nothing
// from any other host. The tests of internal/surface/rest hold the surface to it.
package api

import (
	_ "embed"
)

// YAML is the document as it is written.
//
//go:embed openapi.yaml
var YAML []byte

// JSON is the same document as programs read it.
//
//go:embed openapi.json
var JSON []byte
