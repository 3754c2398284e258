// Package wire is A2A as bytes. It tells the dialects of the protocol
// apart (dialect.go), reads parameters and messages in any of them (params.go,
// message.go), and shows tasks, replies, updates and errors in the types of the
// A2A Go SDK, which are 1.0 as they stand (task.go, parts.go, updates.go,
// errors.go); v03.go and v03_http.go turn those into the shapes of 0.3. It knows
// no request: who may do what, and what is done, is the surface's.
package wire

import (
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Dialect is how a client speaks A2A. What is read differs little, and is read
// by one reader; what is written differs a lot.
type Dialect int

// The dialects.
const (
	V10     Dialect = iota // A2A-Version: 1.0
	V03                    // 0.3, by its header or by its methods' names
	V03HTTP                // 0.3 over HTTP+JSON, which has other shapes than over JSON-RPC
	Legacy                 // the names of 1.0 and no version: 0.3's shapes under them, as early clients of ours were told
)

// DialectOf takes the client's version and whether it uses names of 0.3.
func DialectOf(version string, oldNames bool) Dialect {
	switch {
	case strings.HasPrefix(version, "1"):
		return V10
	case version == "" && !oldNames:
		return Legacy
	}
	return V03
}

// Old reports whether answers have the shapes of 0.3.
func (d Dialect) Old() bool { return d != V10 }

// Encode turns a value of the SDK's types into what the dialect writes: as it
// is for 1.0, in the shapes of 0.3 otherwise.
func (d Dialect) Encode(v any) any {
	switch d {
	case V10:
		return v
	case V03HTTP:
		return httpForm(v)
	}
	return oldForm(v)
}

// ReadVersion reads the client's version; the empty one is the protocol's rule
// for clients from before there was such a header.
func ReadVersion(r *http.Request) (version string, err error) {
	version = strings.TrimSpace(r.Header.Get("A2A-Version"))
	if version == "" {
		version = r.URL.Query().Get("A2A-Version")
	}
	switch major, minor, _ := strings.Cut(version, "."); {
	case version == "", major == "1" && strings.Trim(minor, "0123456789.") == "":
		return version, nil
	case major == "0" && (minor == "3" || strings.HasPrefix(minor, "3.")):
		return version, nil
	}
	return version, Refuse(versionNotSupported, "A2A-Version %.20q is not spoken here; use 1.0 or 0.3", version)
}

// PushList is what 1.0 lists push notification configurations in.
type PushList struct {
	Configs       []*a2a.PushConfig `json:"configs"`
	NextPageToken string            `json:"nextPageToken"`
}

// Nothing is the answer that has nothing to say.
type Nothing struct{}
