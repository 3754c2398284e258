// Package project writes and runs the projects of agents: `beeos agent new` and
// `beeos agent run`.
//
// new.go writes one from the templates of a language, which languages.go lists;
// gomodule.go and sdkfile.go find the SDK that it is built with. run.go runs the
// agent in a folder, again whenever watch.go sees a change there; runtimes.go
// knows what each language needs for that. A project holds nothing that only
// these commands understand: its README says how to do without them.
package project

import (
	"strings"

	"github.com/beeos/beeos"
)

// releaseVersion is the version of the SDKs that belong to this program.
func releaseVersion() string { return strings.TrimSuffix(beeos.Version, "-dev") }
