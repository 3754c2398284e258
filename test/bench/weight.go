package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/test/pgtest"
)

// callWeight measures what a call takes on disk, with two server binaries and on both
// databases: plain REST calls, one like the other, by an agent of this tree. Each
// server makes its data itself, so one may be older than the other.
func callWeight(ctx context.Context, s settings) (string, error) {
	if s.other == "" {
		return "", errors.New("say which binary to compare with: -other")
	}
	cluster, err := pgtest.Start()
	if err != nil {
		return "", err
	}
	defer cluster.Stop()
	var out strings.Builder
	fmt.Fprintf(&out, "| %d calls | bytes a call as they were written | packed |\n|---|---:|---:|\n", s.weighed)
	for _, engine := range []string{"sqlite", "postgres"} {
		for _, version := range []struct{ name, binary string }{{"the other", s.other}, {"this", s.server}} {
			url := ""
			if engine == "postgres" {
				if url, err = cluster.Database(); err != nil {
					return "", err
				}
			}
			written, packed, err := weigh(ctx, version.binary, url, s.weighed)
			if err != nil {
				return "", fmt.Errorf("%s, %s: %w", engine, version.name, err)
			}
			fmt.Fprintf(&out, "| %s, %s | %.0f | %.0f |\n", engine, version.name, written, packed)
		}
	}
	return out.String(), nil
}

// weigh makes calls and returns by how much the database has grown for each, as the
// server left it and after it was packed.
func weigh(ctx context.Context, binary, url string, calls int) (written, packed float64, err error) {
	b, err := prepareBy(ctx, binary, url)
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(b.data)
	if url == "" {
		url = "sqlite:" + filepath.Join(b.data, "beeos.db")
	}
	if _, err := b.makeCalls(ctx, binary, 1); err != nil { // whatever is made once
		return 0, 0, err
	}
	before, err := sizes(ctx, url)
	if err != nil {
		return 0, 0, err
	}
	made, err := b.makeCalls(ctx, binary, calls)
	if err != nil {
		return 0, 0, err
	}
	after, err := sizes(ctx, url)
	return float64(after.written-before.packed) / float64(made), float64(after.packed-before.packed) / float64(made), err
}

// makeCalls runs the server until it has answered so many calls, and some more.
func (s *beeosServer) makeCalls(ctx context.Context, binary string, calls int) (made int, err error) {
	if err := s.run(ctx, binary, "fsync"); err != nil {
		return 0, err
	}
	defer s.stop()
	leave, id, err := s.connectAgent(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	for made < calls {
		x, err := load(ctx, s.invokeTarget(id, "application/json"), 64, time.Second, s.process)
		if err != nil {
			return made, fmt.Errorf("%w\n%s", err, s.log.String())
		}
		made += x.calls
	}
	return made, nil
}

// size is what a database takes on disk, in bytes.
type size struct{ written, packed int64 }

// sizes weighs a database that nobody uses, and packs it.
func sizes(ctx context.Context, url string) (s size, err error) {
	db, err := database.Open(ctx, url)
	if err != nil {
		return s, err
	}
	defer db.Close()
	settle, pack, weigh := `PRAGMA wal_checkpoint(TRUNCATE)`, `VACUUM`, `SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()`
	if db.Postgres {
		settle, pack, weigh = `VACUUM`, `VACUUM FULL`, `SELECT pg_database_size(current_database())`
	}
	for _, step := range []struct {
		statement string
		into      *int64
	}{{settle, &s.written}, {pack, &s.packed}} {
		if _, err := db.ExecContext(ctx, step.statement); err != nil {
			return s, fmt.Errorf("%s: %w", step.statement, err)
		}
		if *step.into, err = database.GetValue[int64](ctx, db, "weigh the database", weigh); err != nil {
			return s, err
		}
	}
	return s, nil
}
