package auth

import (
	"net/http"
	"testing"

	"github.com/beeos/beeos"
)

// TestMethodsAreGoodAtTheirSurfacesAlone: a credential goes to the method that
// recognises it, and is unknown where that method is not for the surface, even
// if another method there takes what nobody claims.
func TestMethodsAreGoodAtTheirSurfacesAlone(t *testing.T) {
	r := newRig(t)
	says := func(name string) func(*http.Request, string, Audience) (beeos.Caller, error) {
		return func(_ *http.Request, credential string, at Audience) (beeos.Caller, error) {
			return beeos.Caller{Name: name + " " + credential + at.Resource}, nil
		}
	}
	a := New(Options{Keys: r.DB.Keys, Instances: r.DB.Instances, People: r.DB.People, Cluster: r.DB.Cluster, Now: r.Now, Methods: []Method{
		{Surfaces: []Surface{MCP}, Check: says("token")},
		{Prefix: "new_", Header: "X-New-Key", Surfaces: []Surface{REST}, Check: says("new")},
		{Prefix: "new_er_", Surfaces: []Surface{A2A}, Check: says("newer")},
	}})
	const bearer, header = "Authorization", "X-NEW-KEY"
	for _, tt := range []struct {
		name    string
		headers []string
		at      Audience
		want    string
		code    beeos.Code
	}{
		{"what nobody claims", []string{bearer, "Bearer a.b.c"}, Audience{MCP, "/x"}, "token a.b.c/x", ""},
		{"what nobody claims, where nobody takes it", []string{bearer, "Bearer a.b.c"}, Audience{Surface: REST}, "", beeos.InvalidToken},
		{"by prefix", []string{bearer, "Bearer new_1"}, Audience{Surface: REST}, "new new_1", ""},
		{"by prefix, elsewhere", []string{bearer, "Bearer new_1"}, Audience{Surface: MCP}, "", beeos.InvalidToken},
		{"by the longer prefix", []string{bearer, "Bearer new_er_1"}, Audience{Surface: A2A}, "newer new_er_1", ""},
		{"by the longer prefix, elsewhere", []string{bearer, "Bearer new_er_1"}, Audience{Surface: REST}, "", beeos.InvalidToken},
		{"in its header", []string{header, "new_1"}, Audience{Surface: REST}, "new new_1", ""},
		{"in the header of another", []string{AgentKeyHeader, "new_1"}, Audience{Surface: REST}, "", beeos.InvalidToken},
		{"two", []string{header, "new_1", bearer, "Bearer new_2"}, Audience{Surface: REST}, "", beeos.Unauthorized},
		{"at a surface that nobody named", []string{bearer, "Bearer new_1"}, Audience{}, "", beeos.InvalidToken},
		{"a key at a surface that nobody named", []string{bearer, "Bearer " + r.key(beeos.Key{ID: "u1", Kind: beeos.UserKey})}, Audience{}, "", beeos.InvalidToken},
	} {
		c, err := a.Authenticate(request(tt.headers...), tt.at)
		if c.Name != tt.want || tt.code == "" && err != nil || tt.code != "" && beeos.CodeOf(err) != tt.code {
			t.Errorf("%s: %q, %v", tt.name, c.Name, err)
		}
	}
}

// TestGuessesAreCounted: an address that sends many credentials that are no
// good is told to slow down, whether they look like keys or like nothing; a
// good key from there stays good.
func TestGuessesAreCounted(t *testing.T) {
	r := newRig(t)
	key := r.key(beeos.Key{ID: "u1", Kind: beeos.UserKey})
	a := New(Options{Keys: r.DB.Keys, Instances: r.DB.Instances, People: r.DB.People, Cluster: r.DB.Cluster, Now: r.Now, From: func(*http.Request) string { return "192.0.2.1" }})
	at := Audience{Surface: REST}
	for i := range guessesMost {
		guess := [...]string{"x", "oag_x"}[i%2]
		_, err := a.Authenticate(request("Authorization", "Bearer "+guess), at)
		wantCode(t, err, beeos.InvalidToken)
	}
	for _, guess := range []string{"x", "oag_x"} {
		_, err := a.Authenticate(request("Authorization", "Bearer "+guess), at)
		wantCode(t, err, beeos.RateLimited, "in a minute")
	}
	if _, err := a.Authenticate(request("Authorization", "Bearer "+key), at); err != nil {
		t.Error(err)
	}
}

// TestKeyOfUnknownKindIsRefused: a row whose kind this version does not know
// makes nobody a person.
func TestKeyOfUnknownKindIsRefused(t *testing.T) {
	if c, ok := CallerOf(beeos.Key{ID: "k", OwnerID: "u", Kind: "team"}); ok || c.UserID != "" {
		t.Errorf("%+v", c)
	}
	if secret, _, _ := NewKey("team"); len(secret) == keyLen {
		t.Error("such a key looks like a good one")
	}
}
