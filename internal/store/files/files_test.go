package files_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/files"
	"github.com/beeos/beeos/internal/store/storetest"
)

// aFile makes a file that waits for its bytes.
func aFile(t *testing.T, db *store.Store, owner string, u beeos.User, name string) files.File {
	t.Helper()
	f := files.File{
		ID: "file_" + beeos.NewID(), Owner: owner, OwnerID: u.ID, Filename: name, ContentType: "text/plain",
		CreatedAt: database.Now(), ExpiresAt: database.Now().Add(time.Hour),
	}
	if err := db.Files.Create(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	return f
}

// upload stores what aFile made.
func upload(t *testing.T, db *store.Store, f files.File) files.File {
	t.Helper()
	if err := db.Files.Claim(t.Context(), f.ID, "claim", database.Now(), database.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	f.Stored, f.Size, f.SHA256 = true, 3, []byte{0, 1, 255}
	if err := db.Files.MarkStored(t.Context(), f, "claim"); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFileKeepsEveryName(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		u, _ := storetest.Owner(t, db, "a@example.com")
		for _, name := range []string{"plain.txt", "../../etc/passwd", "CON", "\u202egpj.exe", "a\r\nb", ""} {
			f := upload(t, db, aFile(t, db, "user:"+u.ID, u, name))
			got, err := db.Files.Get(t.Context(), f.ID)
			if diff := cmp.Diff(f, got); diff != "" || err != nil {
				t.Errorf("%q: %v %s", name, err, diff)
			}
		}
		for _, id := range []string{"file_unknown", "a\x00b", ""} {
			_, err := db.Files.Get(t.Context(), id)
			storetest.WantCode(t, err, beeos.NotFound)
		}
	})
}

func TestFileHasOneUpload(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		u, _ := storetest.Owner(t, db, "a@example.com")
		f := aFile(t, db, "user:"+u.ID, u, "x")
		until := database.Now().Add(time.Minute)

		ok, codes := storetest.Together(t, 8, func(i int) error {
			return db.Files.Claim(ctx, f.ID, string(rune('a'+i)), database.Now(), until)
		})
		if ok != 1 || codes[beeos.Conflict] != 7 {
			t.Fatalf("%d claimed it, the others got %v", ok, codes)
		}
		storetest.WantCode(t, db.Files.MarkStored(ctx, f, "not mine"), beeos.Conflict)
		storetest.WantCode(t, db.Files.Claim(ctx, "file_unknown", "z", database.Now(), until), beeos.NotFound)

		// The process dies: its claim is void after a while, and its late bytes
		// do not count.
		if err := db.Files.Claim(ctx, f.ID, "second", until.Add(time.Second), until.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		for _, first := range "abcdefgh" {
			storetest.WantCode(t, db.Files.MarkStored(ctx, f, string(first)), beeos.Conflict)
		}
		// The upload fails: it can be tried again at once.
		if err := db.Files.Release(ctx, f.ID, "second"); err != nil {
			t.Fatal(err)
		}
		f = upload(t, db, f)
		if err := db.Files.Release(ctx, f.ID, "claim"); err != nil {
			t.Fatal(err)
		}
		storetest.WantCode(t, db.Files.Claim(ctx, f.ID, "third", database.Now().Add(time.Hour), until), beeos.Conflict, "used already")
		storetest.WantCode(t, db.Files.MarkStored(ctx, f, "claim"), beeos.Conflict)
	})
}

func TestKeptFilesAreStoredAndOnesOwn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		u, _ := storetest.Owner(t, db, "a@example.com")
		mine, key := "user:"+u.ID, "key:k"
		stored, foreign := upload(t, db, aFile(t, db, mine, u, "a")), upload(t, db, aFile(t, db, key, u, "b"))
		pending := aFile(t, db, mine, u, "c")
		ids := []string{stored.ID, foreign.ID, pending.ID, "file_unknown", stored.ID}
		for _, tt := range []struct {
			owner string
			want  files.File
		}{{mine, stored}, {key, foreign}} {
			got, err := db.Files.Keep(ctx, tt.owner, ids, database.Now())
			if diff := cmp.Diff(map[string]files.File{tt.want.ID: tt.want}, got); diff != "" || err != nil {
				t.Errorf("%s: %v %s", tt.owner, err, diff)
			}
		}
		if got, err := db.Files.Keep(ctx, mine, []string{"a\x00b"}, database.Now()); len(got) != 0 || err != nil {
			t.Errorf("no id at all: %v %v", got, err)
		}
		// What a request needs stays as long as the request.
		week := database.Now().Add(7 * 24 * time.Hour)
		if _, err := db.Files.Keep(ctx, mine, ids, week); err != nil {
			t.Fatal(err)
		}
		if got, err := db.Files.Get(ctx, stored.ID); err != nil || !got.ExpiresAt.Equal(week) {
			t.Errorf("kept until %v, %v; want %v", got.ExpiresAt, err, week)
		}
		if got, err := db.Files.Get(ctx, foreign.ID); err != nil || !got.ExpiresAt.Equal(foreign.ExpiresAt) {
			t.Errorf("somebody else's is kept until %v, %v", got.ExpiresAt, err)
		}
	})
}

func TestFilesExpire(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		u, _ := storetest.Owner(t, db, "a@example.com")
		never, old := aFile(t, db, "user:"+u.ID, u, "never uploaded"), upload(t, db, aFile(t, db, "user:"+u.ID, u, "old"))
		if ids, err := db.Files.ListExpired(ctx, database.Now(), 10); len(ids) != 0 || err != nil {
			t.Fatalf("too early: %v %v", ids, err)
		}
		later := database.Now().Add(2 * time.Hour)
		for range 2 { // one that ended is told about until it is removed
			ids, err := db.Files.ListExpired(ctx, later, 10)
			if diff := cmp.Diff([]string{never.ID, old.ID}, ids); diff != "" || err != nil {
				t.Fatal(err, diff)
			}
		}
		if ids, err := db.Files.ListExpired(ctx, later, 1); len(ids) != 1 || err != nil {
			t.Errorf("some of them: %v %v", ids, err)
		}
		_, err := db.Files.Get(ctx, old.ID)
		storetest.WantCode(t, err, beeos.NotFound)
		storetest.WantCode(t, db.Files.Claim(ctx, never.ID, "late", later, later.Add(time.Hour)), beeos.NotFound)
		if got, err := db.Files.Keep(ctx, "user:"+u.ID, []string{old.ID}, later); len(got) != 0 || err != nil {
			t.Errorf("an expired file can still be attached: %v %v", got, err)
		}
		for _, id := range []string{never.ID, old.ID} {
			if err := db.Files.Forget(ctx, id); err != nil {
				t.Fatal(err)
			}
		}
		if ids, err := db.Files.ListExpired(ctx, later, 10); len(ids) != 0 || err != nil {
			t.Errorf("removed ones: %v %v", ids, err)
		}
	})
}

// TestFileIsKeptForTheLongest: of two requests that attach a file at once, the
// one that ends first does not take it from the other.
func TestFileIsKeptForTheLongest(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		u, _ := storetest.Owner(t, db, "a@example.com")
		f := upload(t, db, aFile(t, db, "user:"+u.ID, u, "x"))
		week, day := database.Now().Add(7*24*time.Hour), database.Now().Add(24*time.Hour)
		for _, until := range []time.Time{week, day} { // both have read that it ends in an hour
			if err := db.Files.KeepFile(t.Context(), f.ID, until); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := db.Files.Get(t.Context(), f.ID); err != nil || !got.ExpiresAt.Equal(week) {
			t.Errorf("it is kept until %s, %v; want %s", got.ExpiresAt, err, week)
		}
	})
}

// TestFileOfTheSameId: who brings a file twice at once, or again while the old
// one is being removed, is told to come back, and not that the server failed.
func TestFileOfTheSameId(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		u, _ := storetest.Owner(t, db, "a@example.com")
		f := aFile(t, db, "user:"+u.ID, u, "x")
		storetest.WantCode(t, db.Files.Create(t.Context(), f), beeos.Conflict)
		if _, err := db.Files.ListExpired(t.Context(), f.ExpiresAt.Add(time.Second), 10); err != nil {
			t.Fatal(err)
		}
		_, err := db.Files.Get(t.Context(), f.ID)
		storetest.WantCode(t, err, beeos.NotFound)
		storetest.WantCode(t, db.Files.Create(t.Context(), f), beeos.Conflict)
	})
}

// TestFileStaysWhileItIsWritten: a file whose time to come is nearly over, and
// that somebody brings after all, is not removed under the one who writes it.
func TestFileStaysWhileItIsWritten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		u, _ := storetest.Owner(t, db, "a@example.com")
		f := aFile(t, db, "user:"+u.ID, u, "x")
		late := f.ExpiresAt.Add(-time.Second)
		if err := db.Files.Claim(t.Context(), f.ID, "claim", late, late.Add(15*time.Minute)); err != nil {
			t.Fatal(err)
		}
		if gone, err := db.Files.ListExpired(t.Context(), f.ExpiresAt.Add(time.Minute), 10); err != nil || len(gone) != 0 {
			t.Errorf("to be removed: %v, %v", gone, err)
		}
		f.Size, f.SHA256, f.ExpiresAt = 3, []byte{1}, late.Add(time.Hour)
		if err := db.Files.MarkStored(t.Context(), f, "claim"); err != nil {
			t.Errorf("its bytes are there: %v", err)
		}
	})
}
