package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/beeos/beeos"
)

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

const fileColumns = "id, owner, owner_id, filename, content_type, state, size, sha256, created_at, expires_at"

// CreateFile notes a file whose bytes are still to come.
func (db *DB) CreateFile(ctx context.Context, f File) error {
	_, err := db.write(ctx, `INSERT INTO files (id, owner, owner_id, filename, content_type, state, claim, claimed_until, size, sha256, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, 'pending', '', 0, 0, $6, $7, $8)`,
		f.ID, f.Owner, f.OwnerID, f.Filename, f.ContentType, []byte{}, micros(f.CreatedAt), micros(f.ExpiresAt))
	if duplicate(err) {
		return beeos.Wrap(beeos.Conflict, err, "this file is being stored or removed at this moment; try again in a minute")
	}
	if err != nil {
		return fmt.Errorf("create file: %w", err)
	}
	return nil
}

// File returns a file, also one whose bytes are still to come.
func (db *DB) File(ctx context.Context, id string) (File, error) {
	f, err := scanFile(db.QueryRowContext(ctx, "SELECT "+fileColumns+" FROM files WHERE id = $1 AND state <> 'removed'", id))
	if Absent(err) {
		return File{}, notFound("file")
	}
	if err != nil {
		return File{}, fmt.Errorf("read file: %w", err)
	}
	return f, nil
}

// KeptFiles returns those of the files that this owner has stored, by id, and
// keeps them at least until then.
func (db *DB) KeptFiles(ctx context.Context, owner string, ids []string, until time.Time) (map[string]File, error) {
	list := make([]any, len(ids))
	for i, id := range ids {
		list[i] = id
	}
	where := conditions{}
	where.add("owner = ", owner)
	where.text("state = 'stored'")
	where.addList("id", list)
	rows, err := db.QueryContext(ctx, "SELECT "+fileColumns+" FROM files"+where.sql(), where.args...)
	files, err := collect(rows, err, scanFile)
	if err != nil && !Absent(err) {
		return nil, fmt.Errorf("read files: %w", err)
	}
	found := map[string]File{}
	for _, f := range files {
		if f.ExpiresAt.Before(until) {
			if err := db.keepFile(ctx, f.ID, until); beeos.CodeOf(err) == beeos.NotFound {
				continue // it expired this very moment
			} else if err != nil {
				return nil, err
			}
		}
		found[f.ID] = f
	}
	return found, nil
}

func (db *DB) keepFile(ctx context.Context, id string, until time.Time) error {
	return db.changeOne(ctx, "keep file", notFound("file"), `UPDATE files SET expires_at = CASE WHEN expires_at < CAST($2 AS BIGINT) THEN CAST($2 AS BIGINT) ELSE expires_at END
		WHERE id = $1 AND state = 'stored'`, id, micros(until))
}

// ClaimFile gives the one upload of a file to whoever comes first; it is
// Conflict for the others. A claim is void after until; the file stays for as
// long, since bytes that come after its row has gone would be nobody's.
func (db *DB) ClaimFile(ctx context.Context, id, claim string, now, until time.Time) error {
	taken := beeos.Errorf(beeos.Conflict, "this link was used already, or is being used; ask for a new one to upload another file")
	err := db.changeOne(ctx, "claim file", taken, `UPDATE files SET claim = $2, claimed_until = CAST($3 AS BIGINT),
			expires_at = CASE WHEN expires_at < CAST($3 AS BIGINT) THEN CAST($3 AS BIGINT) ELSE expires_at END
		WHERE id = $1 AND state = 'pending' AND claimed_until < $4`,
		id, claim, micros(until), micros(now))
	if errors.Is(err, taken) {
		if _, gone := db.File(ctx, id); gone != nil {
			return gone
		}
	}
	return err
}

// ReleaseFile gives a claim back, so that the upload can be tried again.
func (db *DB) ReleaseFile(ctx context.Context, id, claim string) error {
	if _, err := db.write(ctx, "UPDATE files SET claimed_until = 0 WHERE id = $1 AND claim = $2 AND state = 'pending'", id, claim); err != nil {
		return fmt.Errorf("release file: %w", err)
	}
	return nil
}

// StoreFile says that the bytes of a claimed file are there, for good until
// f.ExpiresAt.
func (db *DB) StoreFile(ctx context.Context, f File, claim string) error {
	lost := beeos.Errorf(beeos.Conflict, "the upload took too long and was given up; ask for a new link")
	return db.changeOne(ctx, "store file", lost, `UPDATE files SET state = 'stored', size = $3, sha256 = $4, expires_at = $5, claimed_until = 0
		WHERE id = $1 AND claim = $2 AND state = 'pending'`, f.ID, claim, f.Size, f.SHA256, micros(f.ExpiresAt))
}

// ExpireFiles ends the files whose time is over and returns some that ended,
// now or earlier, and still have to be removed: the bytes, then the row.
func (db *DB) ExpireFiles(ctx context.Context, now time.Time, limit int) ([]string, error) {
	if _, err := db.write(ctx, "UPDATE files SET state = 'removed' WHERE expires_at < $1 AND state <> 'removed'", micros(now)); err != nil {
		return nil, fmt.Errorf("expire files: %w", err)
	}
	ids, err := texts(ctx, db, "SELECT id FROM files WHERE expires_at < $1 AND state = 'removed' ORDER BY expires_at, id LIMIT $2", micros(now), limit)
	if err != nil {
		return nil, fmt.Errorf("expire files: %w", err)
	}
	return ids, nil
}

// ForgetFile removes the row of a file that ExpireFiles returned.
func (db *DB) ForgetFile(ctx context.Context, id string) error {
	if _, err := db.write(ctx, "DELETE FROM files WHERE id = $1 AND state = 'removed'", id); err != nil {
		return fmt.Errorf("forget file: %w", err)
	}
	return nil
}

// changeOne runs a statement that must change one row; none is the caller's.
func (db *DB) changeOne(ctx context.Context, what string, none error, query string, args ...any) error {
	res, err := db.write(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		err = none
	}
	return err
}

func scanFile(row scanner) (f File, err error) {
	var state string
	var created, expires int64
	err = row.Scan(&f.ID, &f.Owner, &f.OwnerID, &f.Filename, &f.ContentType, &state, &f.Size, &f.SHA256, &created, &expires)
	f.Stored = state == "stored"
	f.CreatedAt, f.ExpiresAt = moment(created), moment(expires)
	return f, err
}
