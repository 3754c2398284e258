package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// addFolder adds what lies in the data folder beside the database and the files of
// callers: the operator's lists of prices and skill servers, identities of agents,
// and whatever else is there, so that nothing has to be named here when it is new.
func (w *work) addFolder(ctx context.Context) error {
	err := filepath.WalkDir(w.Data, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // gone meanwhile, or a server on PostgreSQL that needs no folder
			return nil
		case err != nil:
			return err
		}
		name, err := filepath.Rel(w.Data, path)
		if err != nil || name == "." {
			return err
		}
		if isOurs(name) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() { // a link would lead out of the folder
			return nil
		}
		return w.addPath(ctx, dataPrefix+filepath.ToSlash(name), path)
	})
	if err != nil {
		return fmt.Errorf("read the data folder: %w", err)
	}
	return nil
}

// isOurs reports whether something of the data folder is saved in another way, or
// not at all: the database, the files of callers, what is hidden or half written.
func isOurs(name string) bool {
	return strings.HasPrefix(filepath.Base(name), ".") || name == FilesFolder ||
		name == DatabaseName || name == DatabaseName+"-wal" || name == DatabaseName+"-shm" || name == DatabaseName+"-journal"
}

// addPath adds a file of this machine's.
func (w *work) addPath(ctx context.Context, name, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) { // gone meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return w.out.add(name, info.Size(), stoppable{ctx, f})
}

// syncFolder puts the names in a folder on the disk, where folders can be asked to.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("keep the backup: %w", err)
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil {
		return fmt.Errorf("keep the backup: %w", err)
	}
	return nil
}
