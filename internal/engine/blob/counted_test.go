package blob

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestOperationsAreCounted: each thing that is asked of a place is told once; what
// its users did wrong is no failure of the place.
func TestOperationsAreCounted(t *testing.T) {
	disk, err := OpenDisk(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	c := &Counted{
		Store: disk,
		Done:  func(operation, outcome string) { got[operation+" "+outcome]++ },
		Moved: func(direction string, n int64) { got[direction] += n },
	}
	ctx := t.Context()
	if _, _, err := c.Put(ctx, "file_1", strings.NewReader("hello"), 100); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Put(ctx, "file_2", strings.NewReader("hello"), 2); !errors.Is(err, ErrTooLarge) {
		t.Fatal(err)
	}
	if _, _, err := c.Put(ctx, "file_3", iotest.ErrReader(errors.New("the sender left")), 100); err == nil {
		t.Fatal("half a file")
	}
	r, err := c.Open(ctx, "file_1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Seek(1, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); string(text) != "ello" || err != nil {
		t.Fatal(text, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Open(ctx, "file_9"); err == nil {
		t.Fatal("a file that is not there")
	}
	if err := errors.Join(c.Delete(ctx, "file_1"), c.Sweep(ctx, time.Now())); err != nil {
		t.Fatal(err)
	}
	disk.Close()
	if _, _, err := c.Put(ctx, "file_4", strings.NewReader("hello"), 100); err == nil {
		t.Fatal("the place is closed")
	}
	want := map[string]int64{
		"put ok": 1, "put refused": 2, "put failed": 1, "written": 5,
		"open ok": 1, "open refused": 1, "read": 4, "delete ok": 1, "sweep ok": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(fmt.Sprint(diff))
	}
}
