package approval

import (
	"encoding/json"
	"testing"
)

// TestWordsThatDecide: a verdict is one word of the person who was asked, about
// one approval.
func TestWordsThatDecide(t *testing.T) {
	one, two := Offer{"a1", "ann"}, Offer{"a2", "ann"}
	for _, c := range []struct {
		by, said string
		offers   []Offer
		verdict  bool
		decides  string // the approval
		approve  bool
		reason   string
	}{
		{"user:ann", "approve", []Offer{one}, true, "a1", true, ""},
		{"user:ann", " Reject: too much ", []Offer{one}, true, "a1", false, "too much"},
		{"user:ann", "approve a2", []Offer{one, two}, true, "a2", true, ""},
		{"user:ann", "approve", []Offer{one, two}, true, "", false, ""},
		{"user:ann", "approve other", []Offer{one}, true, "", false, ""},
		{"user:bob", "approve", []Offer{one}, true, "", false, ""},
		{"agent:ann", "approve", []Offer{one}, true, "", false, ""},
		{"user:ann", "yes, approve it", []Offer{one}, false, "", false, ""},
		{"user:ann", "approve: yes", []Offer{one}, false, "", false, ""},
		{"user:ann", "", []Offer{one}, false, "", false, ""},
	} {
		frame, err := json.Marshal(map[string]string{"publisher_id": c.by, "body": c.said})
		if err != nil {
			t.Fatal(err)
		}
		d, verdict := ReadWords(c.offers, frame)
		if verdict != c.verdict || (d != nil) != (c.decides != "") {
			t.Errorf("%s %q: %+v, %v", c.by, c.said, d, verdict)
		} else if d != nil && (d.offer.ApprovalID != c.decides || d.approve != c.approve || d.reason != c.reason || d.via != viaConversation) {
			t.Errorf("%s %q: %+v", c.by, c.said, d)
		}
	}
}
