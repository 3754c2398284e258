package safetext

import "testing"

// TestAddressHidesKeys: what people put into addresses to be let in is not shown.
func TestAddressHidesKeys(t *testing.T) {
	for in, want := range map[string]string{"https://me:secret@a.example/in/x?key=secret#secret": "https://a.example/in/x", "://secret": "an address that cannot be read"} {
		if got := Address(in); got != want {
			t.Errorf("%s is shown as %s", in, got)
		}
	}
}
