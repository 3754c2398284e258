package web

import (
	"context"

	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// nameCallers names principals: the visitor, other people, and keys.
func (s *Surface) nameCallers(ctx context.Context, v *page.Visitor) func(principal string) string {
	names := s.Acts.NamePrincipals(ctx, v.Caller())
	return func(principal string) string {
		if principal == "user:"+v.User.ID {
			return "you"
		}
		return safetext.Line(names(principal), 44)
	}
}
