package blob

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Disk is a folder in which every file is named by its id. Nothing outside of
// the folder can be reached through it, and no symbolic link in it is followed.
type Disk struct{ root *os.Root }

var _ Store = (*Disk)(nil)

// tempPrefix begins the names of files that are being written. No id has a dot.
const tempPrefix = ".upload-"

// OpenDisk opens the folder, which it makes when it is not there.
func OpenDisk(folder string) (*Disk, error) {
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the folder for files: %w", err)
	}
	info, err := os.Lstat(folder)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder but a %s; put a real folder there, or mount the other one on it", folder, kindOf(info.Mode()))
	}
	if err != nil {
		return nil, fmt.Errorf("open the folder for files: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open the folder for files: %w", err)
	}
	return &Disk{root}, nil
}

func kindOf(m fs.FileMode) string {
	if m&fs.ModeSymlink != 0 {
		return "symbolic link"
	}
	return "file"
}

// Close lets go of the folder.
func (d *Disk) Close() error { return d.root.Close() }

// Put writes a file of another name first. It gets its own once every byte is
// on the disk, so that a crash leaves the whole file or none.
func (d *Disk) Put(ctx context.Context, id string, r io.Reader, limit int64) (size int64, sum []byte, err error) {
	if err := checkID(id); err != nil {
		return 0, nil, err
	}
	temp := tempPrefix + rand.Text()
	f, err := d.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, nil, fmt.Errorf("begin file %s: %w", id, err)
	}
	defer func() {
		if err != nil {
			f.Close()           //nolint:errcheck // it is thrown away
			d.root.Remove(temp) //nolint:errcheck // Sweep tries again
		}
	}()
	hash := sha256.New()
	size, err = io.Copy(io.MultiWriter(f, hash), io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("write file %s: %w", id, err)
	case size > limit:
		return 0, nil, ErrTooLarge
	}
	if err = errors.Join(f.Sync(), f.Close(), context.Cause(ctx)); err != nil {
		return 0, nil, fmt.Errorf("write file %s: %w", id, err)
	}
	if err = d.root.Rename(temp, id); err != nil {
		return 0, nil, fmt.Errorf("keep file %s: %w", id, err)
	}
	if err := d.sync(); err != nil { // not the function's err: there is no temporary file any more
		return 0, nil, errors.Join(err, d.root.Remove(id))
	}
	return size, hash.Sum(nil), nil
}

// Open opens a file for reading.
func (d *Disk) Open(_ context.Context, id string) (io.ReadSeekCloser, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	f, err := d.root.Open(id)
	if err != nil {
		return nil, fmt.Errorf("open file %s: %w", id, err)
	}
	if err := d.isItself(f, id); err != nil {
		f.Close() //nolint:errcheck // it was only read
		return nil, fmt.Errorf("open file %s: %w", id, err)
	}
	return f, nil
}

// isItself reports whether f is the file of that name, and not what a link of
// that name points to: os.Root follows links that stay inside.
func (d *Disk) isItself(f *os.File, name string) error {
	opened, err := f.Stat()
	if err != nil {
		return err
	}
	named, err := d.root.Lstat(name)
	if err != nil {
		return err
	}
	if !named.Mode().IsRegular() || !os.SameFile(opened, named) {
		return fmt.Errorf("%w: it is no ordinary file", fs.ErrNotExist)
	}
	return nil
}

// Delete removes a file.
func (d *Disk) Delete(_ context.Context, id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	if err := d.root.Remove(id); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove file %s: %w", id, err)
	}
	return nil
}

// Sweep removes files that were being written when their process died.
func (d *Disk) Sweep(ctx context.Context, before time.Time) error {
	list, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return fmt.Errorf("list the folder for files: %w", err)
	}
	for _, entry := range list {
		if ctx.Err() != nil || !strings.HasPrefix(entry.Name(), tempPrefix) {
			continue
		}
		info, err := entry.Info()
		if err != nil || !info.ModTime().Before(before) {
			continue // gone meanwhile, or still being written
		}
		if err := d.root.Remove(entry.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the rest of an upload: %w", err)
		}
	}
	return ctx.Err()
}

// sync puts the folder itself on the disk: without it a new name may be gone
// after a power cut.
func (d *Disk) sync() error {
	folder, err := d.root.Open(".")
	if err != nil {
		return fmt.Errorf("sync the folder for files: %w", err)
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil {
		return fmt.Errorf("sync the folder for files: %w", err)
	}
	return nil
}

// checkID: an id becomes a file name, so it must look like one of ours.
func checkID(id string) error {
	plain := func(c rune) bool {
		return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	if id == "" || len(id) > 128 || strings.ContainsFunc(id, func(c rune) bool { return !plain(c) }) {
		return fmt.Errorf("%w: %.40q is no file id", fs.ErrNotExist, id)
	}
	return nil
}
