package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ReadHeader returns what a backup says of itself.
func ReadHeader(file string) (Header, error) {
	r, err := openArchive(file)
	if err != nil {
		return Header{}, err
	}
	return r.header, r.close()
}

// Target is where a backup is brought back to.
type Target struct {
	Folder string // the data folder: empty, or not there yet

	// Before, which may be nil, is called once everything has been unpacked and
	// compared, with the folder in which it lies until it returns. What Before takes
	// out of that folder does not come into the data folder.
	Before func(ctx context.Context, folder string) error

	Progress func(done, all int64) // bytes of the backup; nil = nobody watches
}

// stageName begins the name of the folder, inside of the data folder, in which a
// backup is unpacked: the data folder itself may be a mounted disk.
const stageName = ".restoring-"

// Restore brings a backup back.
func Restore(ctx context.Context, file string, to Target) (h Header, err error) {
	r, err := openArchive(file)
	if err != nil {
		return h, err
	}
	defer r.close() //nolint:errcheck // it is only read
	if err := CheckEmptyFolder(to.Folder); err != nil {
		return h, err
	}
	if err := os.MkdirAll(to.Folder, 0o700); err != nil {
		return h, fmt.Errorf("make the data folder: %w", err)
	}
	stage, err := os.MkdirTemp(to.Folder, stageName)
	if err != nil {
		return h, fmt.Errorf("the data folder cannot be written to; change its rights or name another one with --data: %w", err)
	}
	defer os.RemoveAll(stage)
	if err := unpack(ctx, r, stage, to.Progress); err != nil {
		return h, err
	}
	if to.Before != nil {
		if err := to.Before(ctx, stage); err != nil {
			return h, err
		}
	}
	return r.header, MoveInto(stage, to.Folder)
}

// CheckEmptyFolder refuses a folder that holds anything.
func CheckEmptyFolder(folder string) error {
	list, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look into the data folder: %w", err)
	}
	for _, e := range list {
		if e.Name() != "lost+found" { // of a disk that is mounted there
			return fmt.Errorf("the data folder %s is not empty (it has %s); restore into another one with --data, or move what is there away first", folder, e.Name())
		}
	}
	return nil
}

// unpack writes what is in a backup into a folder.
func unpack(ctx context.Context, r *reader, folder string, progress func(done, all int64)) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	defer root.Close()
	if progress == nil {
		progress = func(int64, int64) {}
	}
	return r.readAll(func(name string) (io.WriteCloser, error) {
		progress(r.position(), r.size)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		path, wanted := targetOf(name)
		if !wanted {
			return discarded{}, nil
		}
		f, err := createIn(root, path)
		if err != nil {
			return nil, fmt.Errorf("restore %s: %w", name, err)
		}
		return synced{f}, nil
	})
}

// targetOf is where something of a backup comes to lie in the data folder.
func targetOf(name string) (path string, wanted bool) {
	if rest, ok := strings.CutPrefix(name, dataPrefix); ok {
		return filepath.FromSlash(rest), true
	}
	if id, ok := strings.CutPrefix(name, filesPrefix); ok {
		return filepath.Join(FilesFolder, filepath.FromSlash(id)), true
	}
	return "", false // the settings are for people to look at
}

func createIn(root *os.Root, path string) (*os.File, error) {
	if !filepath.IsLocal(path) {
		return nil, errors.New("it would not lie in the data folder")
	}
	if err := root.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// synced is a file that is on the disk once it is closed.
type synced struct{ *os.File }

func (s synced) Close() error { return errors.Join(s.Sync(), s.File.Close()) }

type discarded struct{}

func (discarded) Write(p []byte) (int, error) { return len(p), nil }
func (discarded) Close() error                { return nil }

// MoveInto moves everything from one folder into another, the database last: a
// server that is started after a crash finds the whole of it or none.
func MoveInto(from, to string) error {
	list, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	move := func(name string) error {
		if err := os.Rename(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return fmt.Errorf("restore %s: %w", name, err)
		}
		return nil
	}
	database := false
	for _, e := range list {
		if e.Name() == DatabaseName {
			database = true
			continue
		}
		if err := move(e.Name()); err != nil {
			return err
		}
	}
	if database {
		if err := move(DatabaseName); err != nil {
			return err
		}
	}
	return syncFolder(to)
}
