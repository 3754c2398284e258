package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/internal/engine/blob"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/backup"
	"github.com/beeos/beeos/internal/store/verify"
)

// Backup writes all that a server keeps into a file, whether it runs or not. Of one
// on PostgreSQL that is what pg_dump does not have.
func Backup(ctx context.Context, cfg config.Config, file string, withFiles bool, progress func(done, all int64)) (result backup.Result, err error) {
	db, version, err := openUnchanged(ctx, cfg)
	if err != nil {
		return result, err
	}
	defer db.Close()
	src := backup.Source{DB: db, Version: version, Data: cfg.Data, Settings: cfg.Effective(), Progress: progress}
	if withFiles {
		place, free, err := openPlaceThere(ctx, cfg)
		if err != nil {
			return result, err
		}
		defer free()
		src.Blobs = place
	}
	return backup.Write(ctx, src, file)
}

// Verify looks for damage in what a server keeps, whether it runs or not.
func Verify(ctx context.Context, cfg config.Config, withFiles bool) (report verify.Report, err error) {
	db, version, err := openUnchanged(ctx, cfg)
	if err != nil {
		return report, err
	}
	defer db.Close()
	if !store.IsCurrent(version) {
		return report, fmt.Errorf("the tables are of version %d, older than this program's; start beeos serve once, which upgrades them, or verify with the version that wrote them", version)
	}
	var opt verify.Options
	if withFiles {
		place, free, err := openPlaceThere(ctx, cfg)
		if err != nil {
			return report, err
		}
		defer free()
		opt.Blobs = place
	}
	return verify.Run(ctx, db, opt)
}

func openUnchanged(ctx context.Context, cfg config.Config) (*store.Store, int64, error) {
	dsn, err := DSN(cfg)
	if err != nil {
		return nil, 0, err
	}
	return store.OpenUnchanged(ctx, dsn)
}

// openPlaceThere is openPlace for somebody who only reads: a server's folder is
// where the server runs, and nowhere else.
func openPlaceThere(ctx context.Context, cfg config.Config) (blob.Store, func(), error) {
	if _, err := os.Stat(cfg.Data); errors.Is(err, fs.ErrNotExist) && cfg.S3.Endpoint == "" {
		return nil, nil, fmt.Errorf("the data folder %s is not on this machine; run this where the REST surface runs, or leave the files out with --without-files", cfg.Data)
	}
	return openPlace(ctx, cfg)
}

// Restore brings a backup back into an empty data folder and, for one that holds a
// ledger, into an empty database if the configuration names one.
func Restore(ctx context.Context, cfg config.Config, file string, progress func(done, all int64)) (h backup.Header, err error) {
	if h, err = backup.ReadHeader(file); err != nil {
		return h, err
	}
	if err := backup.CheckEmptyFolder(cfg.Data); err != nil {
		return h, err
	}
	if err := checkRestoreTarget(ctx, cfg, h); err != nil {
		return h, err
	}
	before := func(ctx context.Context, folder string) error {
		if err := restoreTables(ctx, cfg, h, folder); err != nil {
			return err
		}
		return restoreBucket(ctx, cfg, folder)
	}
	return backup.Restore(ctx, file, backup.Target{Folder: cfg.Data, Before: before, Progress: progress})
}

func checkRestoreTarget(ctx context.Context, cfg config.Config, h backup.Header) error {
	switch {
	case cfg.DatabaseURL == "" && h.Engine == backup.PostgreSQL:
		return errors.New("this is the backup of a server on PostgreSQL, whose tables pg_dump has; set DATABASE_URL to the database that they are restored into")
	case cfg.DatabaseURL == "" || h.Engine == backup.PostgreSQL:
		return nil
	}
	dsn, err := DSN(cfg)
	if err != nil {
		return err
	}
	empty, err := store.IsEmpty(ctx, dsn)
	if err == nil && !empty {
		err = errors.New("the database of DATABASE_URL is not empty; make a new one with createdb and name that, or restore into a folder with DATABASE_URL empty")
	}
	return err
}

// restoreTables copies an unpacked ledger into PostgreSQL where the server is to
// have one.
func restoreTables(ctx context.Context, cfg config.Config, h backup.Header, folder string) error {
	if cfg.DatabaseURL == "" || h.Engine == backup.PostgreSQL {
		return nil
	}
	dsn, err := DSN(cfg)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, backup.DatabaseName)
	from, err := store.Open(ctx, "sqlite:"+path)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := store.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := store.Copy(ctx, from, to, nil); err != nil {
		return err
	}
	if err := from.Close(); err != nil {
		return err
	}
	left, err := filepath.Glob(path + "*")
	for _, name := range left {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// restoreBucket sends unpacked files to the bucket where the server keeps them in
// one.
func restoreBucket(ctx context.Context, cfg config.Config, folder string) error {
	unpacked := filepath.Join(folder, backup.FilesFolder)
	list, err := os.ReadDir(unpacked)
	if cfg.S3.Endpoint == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	bucket, free, err := openPlace(ctx, cfg)
	if err != nil {
		return err
	}
	defer free()
	for _, e := range list {
		f, err := os.Open(filepath.Join(unpacked, e.Name()))
		if err == nil {
			_, _, err = bucket.Put(ctx, e.Name(), f, files.MaxBytes)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return fmt.Errorf("restore file %s: %w", e.Name(), err)
		}
	}
	return os.RemoveAll(unpacked)
}

// ServerURL is the address of a PostgreSQL as its own programs take it: without the
// parameters that are ours, and without the password, which would be shown to
// whoever looks at the screen or at the list of processes.
func ServerURL(databaseURL string) string {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return "$DATABASE_URL"
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	for _, ours := range []string{"durability", "pool_max_conns", "password"} {
		q.Del(ours)
	}
	u.RawQuery = q.Encode()
	return u.String()
}
