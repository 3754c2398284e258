package wire

import (
	"slices"
	"strings"
)

// Version is the protocol revision that one request speaks. Revisions only
// grow, so rules compare with >=.
type Version uint8

const (
	Unversioned Version = iota // no session, no version header: curl, never an SDK
	V20241105
	V20250326
	V20250618
	V20251125
	V20260728
)

// NewestHandshake is what initialize offers to a client whose revision has no
// handshake, or is unknown.
const NewestHandshake = V20251125

var VersionNames = []string{
	Unversioned: "", V20241105: "2024-11-05", V20250326: "2025-03-26", V20250618: "2025-06-18", V20251125: "2025-11-25", V20260728: "2026-07-28",
}

func (v Version) String() string { return VersionNames[v] }

// VersionOf returns bare for a name that we do not speak.
func VersionOf(name string) Version {
	return Version(max(0, slices.Index(VersionNames, name)))
}

// SupportedVersions is the JSON array of what we speak, newest first.
var SupportedVersions = func() string {
	names := slices.Clone(VersionNames[1:])
	slices.Reverse(names)
	return `["` + strings.Join(names, `","`) + `"]`
}()

// Stateless reports whether every request stands for itself.
func (v Version) Stateless() bool { return v >= V20260728 }

// Batches reports whether a body may be an array of messages.
func (v Version) Batches() bool { return v == V20250326 }

// BadArgumentsAreResults reports whether arguments that do not fit a tool's
// schema are the model's to read and correct, and so a result.
func (v Version) BadArgumentsAreResults() bool { return v >= V20251125 }

// wantsHTTPStatus reports whether HTTP statuses carry our error codes. An SDK
// takes some of them for a lost session or a dead server; curl wants them.
func (v Version) wantsHTTPStatus() bool { return v == Unversioned }
