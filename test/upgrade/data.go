//go:build unix

package upgrade

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/test/pgtest"
)

// A fixture is an archive of a folder with these in it.
const (
	StoryFile    = "story.json"
	DumpFile     = "dump.sql" // of PostgreSQL; missing where the data folder has the database
	DataFolder   = "data"
	IdentityFile = "agent.json"
)

// Pack writes a folder into an archive.
func Pack(folder, file string) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	compressed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	return errors.Join(archive.AddFS(os.DirFS(folder)), archive.Close(), compressed.Close())
}

// Unpack brings a folder back.
func Unpack(file, folder string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	plain, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	for archive := tar.NewReader(plain); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && !filepath.IsLocal(h.Name) {
			err = errors.New(h.Name + " leads out of the folder")
		}
		if err != nil {
			return err
		}
		path := filepath.Join(folder, h.Name)
		if h.FileInfo().IsDir() {
			err = os.MkdirAll(path, 0o700)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = unpackFile(archive, path, h.FileInfo().Mode())
		}
		if err != nil {
			return err
		}
	}
}

func unpackFile(from io.Reader, path string, mode fs.FileMode) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, mode.Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	return errors.Join(err, out.Close())
}

// Dump writes a PostgreSQL database as statements.
func Dump(ctx context.Context, url, file string) error {
	program, err := pgtest.Program("pg_dump")
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, program, "--no-owner", "--no-privileges", "--no-comments", "--schema=public", "--dbname="+url).Output()
	if err != nil {
		return fmt.Errorf("dump the database: %w", err)
	}
	// Words of psql's own, which older ones do not know, and what is in each new database.
	lines := slices.DeleteFunc(strings.SplitAfter(string(out), "\n"), func(line string) bool {
		return strings.HasPrefix(line, `\restrict`) || strings.HasPrefix(line, `\unrestrict`) || strings.HasPrefix(line, "CREATE SCHEMA public") || strings.HasPrefix(line, "SET transaction_timeout")
	})
	return os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600)
}

// Load runs a dump in an empty database.
func Load(ctx context.Context, file, url string) error {
	program, err := pgtest.Program("psql")
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, program, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", url, "-f", file).CombinedOutput()
	if err != nil {
		return fmt.Errorf("load %s: %w\n%s", filepath.Base(file), err, out)
	}
	return nil
}

// ends are the columns that hold when something ends.
var ends = []string{"expires_at", "deadline", "next_at"}

const (
	endsSQLite   = "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY 1, 2"
	endsPostgres = "SELECT table_name::text, column_name::text FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY 1, 2"
)

// Refresh gives everything that ends the time that it had left when the data was
// made, so that fixtures do not grow old: keys of calls are kept for a day only.
func Refresh(ctx context.Context, dsn string, madeAt time.Time) error {
	db, err := database.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	query := endsSQLite
	if db.Postgres {
		query = endsPostgres
	}
	type column struct{ table, name string }
	columns, err := database.List(ctx, db, "list columns", func(c *column) []any { return []any{&c.table, &c.name} }, query)
	if err != nil {
		return err
	}
	return db.Tx(ctx, "refresh", func(tx *sql.Tx) error {
		for _, c := range columns {
			if !slices.Contains(ends, c.name) {
				continue
			}
			if _, err := tx.ExecContext(ctx, "UPDATE "+c.table+" SET "+c.name+" = "+c.name+" + $1 WHERE "+c.name+" > 0", time.Since(madeAt).Microseconds()); err != nil {
				return fmt.Errorf("%s.%s: %w", c.table, c.name, err)
			}
		}
		return nil
	})
}
