package mcp

import (
	"slices"
	"strings"
)

// version is the protocol revision that one request speaks. Revisions only
// grow, so rules compare with >=.
type version uint8

const (
	unversioned version = iota // no session, no version header: curl, never an SDK
	v20241105
	v20250326
	v20250618
	v20251125
	v20260728
)

// newestHandshake is what initialize offers to a client whose revision has no
// handshake, or is unknown.
const newestHandshake = v20251125

var versionNames = []string{
	unversioned: "", v20241105: "2024-11-05", v20250326: "2025-03-26", v20250618: "2025-06-18", v20251125: "2025-11-25", v20260728: "2026-07-28",
}

func (v version) String() string { return versionNames[v] }

// versionOf returns bare for a name that we do not speak.
func versionOf(name string) version {
	return version(max(0, slices.Index(versionNames, name)))
}

// supportedVersions is the JSON array of what we speak, newest first.
var supportedVersions = func() string {
	names := slices.Clone(versionNames[1:])
	slices.Reverse(names)
	return `["` + strings.Join(names, `","`) + `"]`
}()

// stateless reports whether every request stands for itself.
func (v version) stateless() bool { return v >= v20260728 }

// batches reports whether a body may be an array of messages.
func (v version) batches() bool { return v == v20250326 }

// badArgumentsAreResults reports whether arguments that do not fit a tool's
// schema are the model's to read and correct, and so a result.
func (v version) badArgumentsAreResults() bool { return v >= v20251125 }

// wantsHTTPStatus reports whether HTTP statuses carry our error codes. An SDK takes
// some of them for a lost session or a dead server; curl wants them.
func (v version) wantsHTTPStatus() bool { return v == unversioned }
