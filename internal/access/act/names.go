package act

import (
	"context"
	"strings"

	"github.com/beeos/beeos"
)

// NamePrincipals returns what names people and keys for somebody who sees calls,
// approvals or the trail, where they stand as "user:ID" and "key:ID". Each is
// looked up once; whoever cannot be named is somebody.
func (a *Acts) NamePrincipals(ctx context.Context, c beeos.Caller) func(principal string) string {
	known := map[string]string{}
	var keys map[string]string
	return func(principal string) string {
		if name, ok := known[principal]; ok {
			return name
		}
		name := "somebody"
		kind, id, _ := strings.Cut(principal, ":")
		switch kind {
		case "user":
			if u, err := a.DB.People.GetUser(ctx, id); err == nil {
				name = u.Name
			}
		case "key":
			if keys == nil {
				keys = a.KeyNames(ctx, c)
			}
			name = "an agent key"
			if n := keys[id]; n != "" {
				name = "key " + n
			}
		}
		known[principal] = name
		return name
	}
}

// KeyNames returns the names of the caller's keys by id. A list without them is
// still a list, so an error only leaves them out.
func (a *Acts) KeyNames(ctx context.Context, c beeos.Caller) map[string]string {
	names := map[string]string{}
	keys, err := a.Keys(ctx, c, "", "")
	if err != nil {
		a.Log.WarnContext(ctx, "a list is shown without the names of keys", "err", err)
	}
	for _, k := range keys {
		names[k.ID] = k.Name
	}
	return names
}
