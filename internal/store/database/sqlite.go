package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// openSQLite opens the file that rest, a dsn without its scheme, names. The
// folder is created when it is missing.
func openSQLite(ctx context.Context, rest string) (*DB, error) {
	path, durable, err := ParseSQLite(rest)
	if err != nil {
		return nil, err
	}
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	pool, err := sql.Open("sqlite", sqliteDSN(path, durable))
	if err != nil {
		return nil, fmt.Errorf("the database file %s cannot be used: %w", path, err)
	}
	conns := max(4, 2*runtime.GOMAXPROCS(0))
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	if err := pool.PingContext(ctx); err != nil {
		pool.Close()
		return nil, explainSQLite(path, err)
	}
	return &DB{DB: pool, writing: make(chan struct{}, 1)}, nil
}

func ParseSQLite(rest string) (path string, durable bool, err error) {
	path, query := rest, ""
	if i := strings.LastIndexByte(rest, '?'); i >= 0 {
		path, query = rest[:i], rest[i+1:]
	}
	path = strings.TrimPrefix(path, "//")
	if path == "" || strings.HasPrefix(path, ":") {
		return "", false, errors.New("the SQLite URL names no file; write sqlite:/path/to/beeos.db")
	}
	params, err := url.ParseQuery(query)
	if err != nil {
		return "", false, fmt.Errorf("the SQLite URL ends in something that is not durability=fsync or durability=os: %w", err)
	}
	if durable, err = takeDurability(params); err != nil {
		return "", false, err
	}
	if len(params) > 0 {
		return "", false, errors.New("the SQLite URL has unknown parameters; the only one is durability=fsync|os")
	}
	return path, durable, nil
}

// takeDurability takes the parameter of that name out of a dsn's query.
func takeDurability(params url.Values) (fsync bool, err error) {
	v := params.Get("durability")
	params.Del("durability")
	switch v {
	case "", "fsync":
		return true, nil
	case "os":
		return false, nil
	}
	return false, fmt.Errorf("durability is %q; use fsync (survives a power cut) or os (survives the death of the process)", v)
}

// prepareFile makes the folder and the file, so that what can go wrong is
// said in terms of paths and rights instead of SQLite's "unable to open".
func prepareFile(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the data folder %s cannot be created; choose another one or change its rights: %w", dir, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("the database file %s cannot be opened for writing; choose another data folder or change its rights: %w", path, err)
	}
	return f.Close()
}

// sqliteDSN writes the driver's form of a path. The page cache is small
// because reads go through mmap; the log grows to 16 MB before a checkpoint,
// so that one fsync of the main file serves many commits.
func sqliteDSN(path string, fsync bool) string {
	sync := "NORMAL"
	if fsync {
		sync = "FULL"
	}
	pragmas := []string{
		"busy_timeout(5000)",
		"journal_mode(WAL)",
		"synchronous(" + sync + ")",
		"foreign_keys(1)",
		"cache_size(-8000)",
		"mmap_size(268435456)",
		"wal_autocheckpoint(4000)",
		"journal_size_limit(67108864)",
		"temp_store(MEMORY)",
	}
	q := url.Values{"_pragma": pragmas, "_txlock": {"immediate"}, "_dqs": {"0"}}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// explainSQLite says what to do about a file that opens but does not work.
func explainSQLite(path string, err error) error {
	switch sqliteCode(err) & 0xff {
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("the file %s is not a BeeOS database; choose another data folder or restore the file from a backup: %w", path, err)
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("the database file %s is damaged; restore it from a backup: %w", path, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("the disk with %s is full; make room and start again: %w", path, err)
	case sqlite3.SQLITE_BUSY:
		return fmt.Errorf("the database file %s is locked by another program; stop that one first: %w", path, err)
	}
	return fmt.Errorf("the database file %s cannot be used: %w", path, err)
}

// sqliteCode is the extended code of an error of SQLite's; 0 = it is none.
func sqliteCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}
