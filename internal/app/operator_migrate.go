package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/backup"
)

// Migrate copies everything from the SQLite file in the data folder into the
// empty PostgreSQL that url names. Nothing may write meanwhile.
func Migrate(ctx context.Context, data, url string, progress func(table string, rows int)) error {
	file := filepath.Join(data, backup.DatabaseName)
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("there is nothing to copy in %s: name the data folder with --data: %w", data, err)
	}
	return copyStopped(ctx, "sqlite:"+file, url, data, progress)
}

// MigrateBack copies everything from the PostgreSQL that url names into a new
// SQLite file in the data folder, which has none yet; what else lies there, such as
// the files that people uploaded, stays. Nothing may write meanwhile. The file
// comes into the folder once it is whole.
func MigrateBack(ctx context.Context, data, url string, progress func(table string, rows int)) (err error) {
	free, err := claim(config.Config{Data: data})
	if err != nil {
		return err
	}
	defer free()
	file := filepath.Join(data, backup.DatabaseName)
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("%s is there already: move it away, or name another data folder with --data", file), err)
	}
	if empty, err := store.IsEmpty(ctx, url); err != nil || empty {
		return errors.Join(errors.New("there is nothing to copy in the database: name the one that the server used"), err)
	}
	stage, err := os.MkdirTemp(data, ".migrating-")
	if err != nil {
		return fmt.Errorf("the data folder cannot be written to; change its rights or name another one with --data: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(stage)) }()
	staged := filepath.Join(stage, backup.DatabaseName)
	if err := copyStopped(ctx, url, "sqlite:"+staged, "the database", progress); err != nil {
		return err
	}
	// Closed by its only user the database is one file.
	if _, err := os.Lstat(staged + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("%s could not be finished", staged), err)
	}
	return backup.MoveInto(stage, data)
}

// copyStopped copies one database into another that is empty, unless a server uses
// the first one, which people know as called.
func copyStopped(ctx context.Context, source, target, called string, progress func(table string, rows int)) (err error) {
	from, err := store.Open(ctx, source)
	if err != nil {
		return err
	}
	defer from.Close()
	if _, err := from.ReadClock(ctx); err != nil { // nodes are seen by its time
		return err
	}
	switch nodes, err := from.Cluster.ListNodes(ctx, from.Now().Add(-nodeDead)); {
	case err != nil:
		return err
	case len(nodes) > 0:
		return fmt.Errorf("a server is using %s: stop it first, and wait %s if it was killed", called, nodeDead)
	}
	to, err := store.Open(ctx, target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	return store.Copy(ctx, from, to, progress)
}
