package a2a

import (
	"net/http"
	"strings"
)

// dialect is how a client speaks A2A. What is read differs little, and is read
// by one reader; what is written differs a lot.
type dialect int

const (
	v10    dialect = iota // A2A-Version: 1.0
	v03                   // 0.3, by its header or by its methods' names
	legacy                // the names of 1.0 and no version: 0.3's shapes under them, as early clients of ours were told
)

// old: written in the shapes of 0.3.
func (d dialect) old() bool { return d != v10 }

// versionOf reads the client's version; the empty one is the protocol's rule
// for clients from before there was such a header.
func versionOf(r *http.Request) (version string, err error) {
	version = strings.TrimSpace(r.Header.Get("A2A-Version"))
	if version == "" {
		version = r.URL.Query().Get("A2A-Version")
	}
	switch major, minor, _ := strings.Cut(version, "."); {
	case version == "", major == "1" && digits(minor):
		return version, nil
	case major == "0" && (minor == "3" || strings.HasPrefix(minor, "3.")):
		return version, nil
	}
	return version, refuse(versionNotSupported, "A2A-Version %.20q is not spoken here; use 1.0 or 0.3", version)
}

func digits(s string) bool {
	return strings.Trim(s, "0123456789.") == ""
}

// dialectOf takes the client's version and whether it uses names of 0.3.
func dialectOf(version string, oldNames bool) dialect {
	switch {
	case strings.HasPrefix(version, "1"):
		return v10
	case version == "" && !oldNames:
		return legacy
	}
	return v03
}
