package calls

import "testing"

// SetGlance has a test's searches look through so many calls before they ask routes.
func SetGlance(t *testing.T, n int) {
	was := glance
	glance = n
	t.Cleanup(func() { glance = was })
}
