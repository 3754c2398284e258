// Package files keeps what is known about files: whose they are, how large,
// until when. Their bytes lie in a blob store.
package files

import (
	"context"
	"errors"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Table keeps what is known about files; their bytes lie elsewhere.
type Table struct{ db *database.DB }

// New returns the tables of db.
func New(db *database.DB) *Table { return &Table{db: db} }

// File is what is known about an uploaded file besides its bytes.
type File struct {
	ID          string
	Owner       string // a Caller.Principal
	OwnerID     string // the user behind it
	Filename    string // as it was given, whatever that is
	ContentType string
	Stored      bool // the bytes are there
	Size        int64
	SHA256      []byte
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

const fileColumns = "id, owner, owner_id, filename, content_type, state = 'stored', size, sha256, created_at, expires_at"

// Create notes a file whose bytes are still to come.
func (tb *Table) Create(ctx context.Context, f File) error {
	err := database.Exec(ctx, tb.db, "create file", `INSERT INTO files (id, owner, owner_id, filename, content_type, state, claim, claimed_until, size, sha256, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, 'pending', '', 0, 0, $6, $7, $8)`,
		f.ID, f.Owner, f.OwnerID, f.Filename, f.ContentType, []byte{}, database.Micros(f.CreatedAt), database.Micros(f.ExpiresAt))
	if database.IsDuplicate(err) {
		return beeos.Wrap(beeos.Conflict, err, "this file is being stored or removed at this moment; try again in a minute")
	}
	return err
}

// Get returns a file, also one whose bytes are still to come.
func (tb *Table) Get(ctx context.Context, id string) (File, error) {
	return database.Get(ctx, tb.db, "read file", database.NotFound("file"), fileFields, "SELECT "+fileColumns+" FROM files WHERE id = $1 AND state <> 'removed'", id)
}

// Keep returns those of the files that this owner has stored, by id, and
// keeps them at least until then.
func (tb *Table) Keep(ctx context.Context, owner string, ids []string, until time.Time) (map[string]File, error) {
	where := database.Conditions{}
	where.Add("owner = ?", owner)
	where.Text("state = 'stored'")
	where.AddList("id", database.Args(ids))
	files, err := database.List(ctx, tb.db, "read files", fileFields, "SELECT "+fileColumns+" FROM files"+where.SQL(), where.Args...)
	if err != nil && !database.IsAbsent(err) {
		return nil, err
	}
	found := map[string]File{}
	for _, f := range files {
		if f.ExpiresAt.Before(until) {
			if err := tb.keepFile(ctx, f.ID, until); beeos.CodeOf(err) == beeos.NotFound {
				continue // it expired this very moment
			} else if err != nil {
				return nil, err
			}
		}
		found[f.ID] = f
	}
	return found, nil
}

func (tb *Table) keepFile(ctx context.Context, id string, until time.Time) error {
	return database.ChangeOne(ctx, tb.db, "keep file", database.NotFound("file"), `UPDATE files SET expires_at = CASE WHEN expires_at < CAST($2 AS BIGINT) THEN CAST($2 AS BIGINT) ELSE expires_at END
		WHERE id = $1 AND state = 'stored'`, id, database.Micros(until))
}

// Claim gives the one upload of a file to whoever comes first; it is
// Conflict for the others. A claim is void after until; the file stays for as
// long, since bytes that come after its row has gone would be nobody's.
func (tb *Table) Claim(ctx context.Context, id, claim string, now, until time.Time) error {
	taken := beeos.Errorf(beeos.Conflict, "this link was used already, or is being used; ask for a new one to upload another file")
	err := database.ChangeOne(ctx, tb.db, "claim file", taken, `UPDATE files SET claim = $2, claimed_until = CAST($3 AS BIGINT),
			expires_at = CASE WHEN expires_at < CAST($3 AS BIGINT) THEN CAST($3 AS BIGINT) ELSE expires_at END
		WHERE id = $1 AND state = 'pending' AND claimed_until < $4`,
		id, claim, database.Micros(until), database.Micros(now))
	if errors.Is(err, taken) {
		if _, gone := tb.Get(ctx, id); gone != nil {
			return gone
		}
	}
	return err
}

// Release gives a claim back, so that the upload can be tried again.
func (tb *Table) Release(ctx context.Context, id, claim string) error {
	return database.Exec(ctx, tb.db, "release file", "UPDATE files SET claimed_until = 0 WHERE id = $1 AND claim = $2 AND state = 'pending'", id, claim)
}

// MarkStored says that the bytes of a claimed file are there, for good until
// f.ExpiresAt.
func (tb *Table) MarkStored(ctx context.Context, f File, claim string) error {
	lost := beeos.Errorf(beeos.Conflict, "the upload took too long and was given up; ask for a new link")
	return database.ChangeOne(ctx, tb.db, "store file", lost, `UPDATE files SET state = 'stored', size = $3, sha256 = $4, expires_at = $5, claimed_until = 0
		WHERE id = $1 AND claim = $2 AND state = 'pending'`, f.ID, claim, f.Size, f.SHA256, database.Micros(f.ExpiresAt))
}

// ListExpired ends the files whose time is over and returns some that ended,
// now or earlier, and still have to be removed: the bytes, then the row.
func (tb *Table) ListExpired(ctx context.Context, now time.Time, limit int) ([]string, error) {
	err := database.Exec(ctx, tb.db, "expire files", "UPDATE files SET state = 'removed' WHERE expires_at < $1 AND state <> 'removed'", database.Micros(now))
	if err != nil {
		return nil, err
	}
	return database.ListTexts(ctx, tb.db, "expire files", "SELECT id FROM files WHERE expires_at < $1 AND state = 'removed' ORDER BY expires_at, id LIMIT $2", database.Micros(now), limit)
}

// Forget removes the row of a file that ListExpired returned.
func (tb *Table) Forget(ctx context.Context, id string) error {
	return database.Exec(ctx, tb.db, "forget file", "DELETE FROM files WHERE id = $1 AND state = 'removed'", id)
}

func fileFields(f *File) []any {
	return []any{
		&f.ID, &f.Owner, &f.OwnerID, &f.Filename, &f.ContentType, &f.Stored, &f.Size, &f.SHA256,
		database.Time(&f.CreatedAt), database.Time(&f.ExpiresAt),
	}
}
