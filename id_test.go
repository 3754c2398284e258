package beeos_test

import (
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

// TestIDsRise: ids of one process are in the order in which they were made,
// however many there are in a millisecond, and tell when that was.
func TestIDsRise(t *testing.T) {
	before := time.Now()
	made := make([][]string, 4)
	var group sync.WaitGroup
	for i := range made {
		group.Go(func() {
			for range 10_000 {
				made[i] = append(made[i], beeos.NewID())
			}
		})
	}
	group.Wait()
	seen := map[string]bool{}
	for _, ids := range made {
		for j, id := range ids {
			if j > 0 && id <= ids[j-1] {
				t.Fatalf("%s came after %s", id, ids[j-1])
			}
			if seen[id] {
				t.Fatalf("%s was given twice", id)
			}
			seen[id] = true
		}
		if at := beeos.IDTime(ids[0]); at.Before(before.Add(-time.Millisecond)) || at.After(time.Now().Add(time.Second)) {
			t.Errorf("%s is of %s, made after %s", ids[0], at, before)
		}
		if floor := beeos.IDFloor(before); ids[0] < floor {
			t.Errorf("%s sorts before %s", ids[0], floor)
		}
	}
}
