// Package backup writes all that a server keeps into one file while it runs, and
// brings it back: backup.go takes one moment of a server, folder.go what lies
// beside the database, archive.go is the form of the file, and restore.go unpacks
// one into an empty folder.
//
// The file is a tar, compressed with gzip, so that any machine can look into it.
// What a server on PostgreSQL keeps in its tables is pg_dump's to save; the file
// then has the rest. It holds keys and what people wrote: it is for its owner's
// eyes alone.
package backup

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/database"
)

// DatabaseName is what the SQLite file is called, in the data folder and here.
const DatabaseName = "beeos.db"

// FilesFolder holds, in the data folder, the bytes of files.
const FilesFolder = "files"

// Blobs is where the bytes of files lie.
type Blobs interface {
	Open(ctx context.Context, id string) (io.ReadSeekCloser, error)
}

// Source is a server to take a backup of, running or not.
type Source struct {
	DB       *store.Store // from store.OpenUnchanged
	Version  int64        // of its tables
	Data     string       // the data folder
	Blobs    Blobs        // nil = the bytes of files are left out
	Settings any          // what was in force, for people to look at; no secrets

	Progress func(done, all int64) // bytes; nil = nobody watches
}

// Result is what a backup came to.
type Result struct {
	Size    int64    // of the backup itself
	Files   int      // whose bytes are in it
	Missing []string // files whose bytes could not be found
}

// kept is a file of the server's at the moment of the backup.
type kept struct {
	id      string
	size    int64
	expires time.Time
}

func keptFields(k *kept) []any { return []any{&k.id, &k.size, database.Time(&k.expires)} }

// work is a backup under way.
type work struct {
	Source
	folder string // where it grows, beside the place where it will be
	files  []kept
	out    *archive

	done, all int64
	result    Result
}

// Write makes the backup in file, which must not be there yet. Until everything is
// in it and on the disk it grows in a hidden folder beside it, so that a crash
// leaves nothing that looks like a backup.
func Write(ctx context.Context, src Source, file string) (Result, error) {
	file, err := checkPlace(src.Data, file)
	if err != nil {
		return Result{}, err
	}
	w := &work{Source: src}
	if w.folder, err = os.MkdirTemp(filepath.Dir(file), "."+filepath.Base(file)+".partial-*"); err != nil {
		return Result{}, fmt.Errorf("the folder of the backup cannot be written to; choose another one: %w", err)
	}
	defer os.RemoveAll(w.folder)
	if err := w.write(ctx, filepath.Join(w.folder, "backup")); err != nil {
		return Result{}, fmt.Errorf("write the backup: %w", err)
	}
	if err := checkFree(file); err != nil { // somebody else may have been faster
		return Result{}, err
	}
	if err := os.Rename(filepath.Join(w.folder, "backup"), file); err != nil {
		return Result{}, fmt.Errorf("keep the backup: %w", err)
	}
	return w.result, syncFolder(filepath.Dir(file))
}

// checkPlace refuses files that are there, and places from which the next backup
// would copy this one.
func checkPlace(data, file string) (string, error) {
	whole, err1 := filepath.Abs(file)
	folder, err2 := filepath.Abs(data)
	if err := errors.Join(err1, err2); err != nil {
		return "", fmt.Errorf("find the place of the backup: %w", err)
	}
	if rel, err := filepath.Rel(folder, whole); err == nil && filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s lies in the data folder; choose a place outside of it, best on another disk", file)
	}
	return whole, checkFree(whole)
}

func checkFree(file string) error {
	_, err := os.Lstat(file)
	switch {
	case err == nil:
		return fmt.Errorf("%s is there already and is not overwritten; choose another name", file)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

func (w *work) write(ctx context.Context, path string) (err error) {
	began := time.Now().UTC()
	if err := w.takeMoment(ctx); err != nil {
		return err
	}
	if w.out, err = createArchive(path); err != nil {
		return err
	}
	defer w.out.abandon()
	w.out.moved = w.count
	h := Header{Format: format, Program: beeos.Version, Engine: SQLite, Tables: w.Version, At: began}
	if w.DB.Postgres {
		h.Engine = PostgreSQL
	}
	for _, step := range []func(context.Context) error{
		func(context.Context) error { return w.addJSON(headerName, h) },
		w.addDatabase, w.addFolder, w.addFiles,
		func(context.Context) error { return w.addJSON("settings.json", w.Settings) },
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	w.result.Size, err = w.out.finish()
	return err
}

// takeMoment takes the database as it is now. On SQLite everything is copied; the
// bytes of files follow, as they do not change once they are stored.
func (w *work) takeMoment(ctx context.Context) error {
	listFiles := func(tx *sql.Tx) (err error) {
		w.files, err = database.List(ctx, tx, "list files", keptFields, "SELECT id, size, expires_at FROM files WHERE state = 'stored' ORDER BY id")
		for _, f := range w.files {
			w.all += f.size
		}
		return err
	}
	if w.DB.Postgres {
		tx, err := w.DB.Snapshot(ctx)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // it only reads
		return listFiles(tx)
	}
	size, err := w.DB.Size(ctx)
	if err != nil {
		return err
	}
	w.all = 2 * size.Bytes // it is copied first, then written
	copied := filepath.Join(w.folder, DatabaseName)
	err = w.DB.CopyFile(ctx, copied, listFiles, func(done, all int) {
		w.done = size.Bytes * int64(done) / int64(max(1, all))
		w.count(0)
	})
	if err != nil {
		return err
	}
	return checkCopy(ctx, copied)
}

// checkCopy makes sure that the copy can be used. If it cannot, the database it is
// of has been damaged before, and it is better to know.
func checkCopy(ctx context.Context, path string) error {
	db, err := database.Open(ctx, "sqlite:"+path)
	if err != nil {
		return err
	}
	says, err := database.GetValue[string](ctx, db, "check the copy", "PRAGMA quick_check(1)")
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	if says != "ok" {
		return fmt.Errorf("the database is damaged (%s); see what else is with: beeos verify", says)
	}
	return nil
}

func (w *work) addJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return w.out.add(name, int64(len(text)), bytes.NewReader(text))
}

func (w *work) addDatabase(ctx context.Context) error {
	if w.DB.Postgres {
		return nil
	}
	return w.addPath(ctx, dataPrefix+DatabaseName, filepath.Join(w.folder, DatabaseName))
}

// addFiles adds the bytes of files. One whose time has ended meanwhile may have
// been removed; that is no loss.
func (w *work) addFiles(ctx context.Context) error {
	if w.Blobs == nil {
		return nil
	}
	for _, f := range w.files {
		r, err := w.Blobs.Open(ctx, f.id)
		if errors.Is(err, fs.ErrNotExist) {
			if time.Now().Before(f.expires) {
				w.result.Missing = append(w.result.Missing, f.id)
			}
			w.count(f.size)
			continue
		}
		if err == nil {
			err = errors.Join(w.addFile(ctx, f.id, r), r.Close())
		}
		if err != nil {
			return err
		}
		w.result.Files++
	}
	return nil
}

func (w *work) addFile(ctx context.Context, id string, r io.ReadSeeker) error {
	size, err := r.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = r.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("read file %s: %w", id, err)
	}
	return w.out.add(filesPrefix+id, size, stoppable{ctx, r})
}

// count adds to what is done and tells it.
func (w *work) count(n int64) {
	w.done += n
	if w.Progress != nil {
		w.Progress(min(w.done, w.all), w.all)
	}
}

// stoppable is a reader that ends with its context.
type stoppable struct {
	ctx context.Context
	io.Reader
}

func (s stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.Reader.Read(p)
}
