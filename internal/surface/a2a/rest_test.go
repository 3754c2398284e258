package a2a

import (
	"maps"
	"testing"
)

// TestRoutesNameTheIDsInTheirPath: ids of paths become parameters, and a verb
// behind an id is never taken for a part of it.
func TestRoutesNameTheIDsInTheirPath(t *testing.T) {
	for request, want := range map[string]map[string]string{
		"GET tasks":                                {},
		"GET tasks/t":                              {"id": "t"},
		"POST tasks/t:cancel":                      {"id": "t"},
		"GET tasks/t/pushNotificationConfigs/p":    {"taskId": "t", "id": "p"},
		"DELETE tasks/t/pushNotificationConfigs/p": {"taskId": "t", "id": "p"},
		"GET tasks/t:cancel":                       nil,
		"POST tasks/t":                             nil,
		"POST tasks/t:fly":                         nil,
		"GET tasks/t/u":                            nil,
		"GET ":                                     nil,
	} {
		if _, ids := matchRoute(request); !maps.Equal(ids, want) || (ids == nil) != (want == nil) {
			t.Errorf("%s: %v, want %v", request, ids, want)
		}
	}
}
