package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/beeos/beeos/internal/app"
)

// defaultData is the data folder that nobody has to name; dev runs there, too.
const defaultData = "./beeos-data"

// FindDev returns what beeos dev left in a data folder. In a folder where no dev
// has run, and with no other data folder named, that is the dev that was started
// last on this machine, wherever.
func FindDev(data string) (app.DevFile, error) {
	f, err := app.ReadDevFile(data)
	if !errors.Is(err, fs.ErrNotExist) || filepath.Clean(data) != filepath.Clean(defaultData) {
		return f, err
	}
	last, lastErr := readLastDev()
	if lastErr != nil {
		return f, err
	}
	return app.ReadDevFile(last)
}

// DataFolder is the data folder that is meant: the given one, or, when nobody has
// named one and there is no database in the usual one, that of the dev that was
// started last on this machine.
func DataFolder(data string) string {
	if filepath.Clean(data) != filepath.Clean(defaultData) {
		return data
	}
	if _, err := os.Stat(filepath.Join(data, "beeos.db")); !errors.Is(err, fs.ErrNotExist) {
		return data
	}
	last, err := readLastDev()
	if err != nil {
		return data
	}
	if _, err := app.ReadDevFile(last); err != nil {
		return data
	}
	return last
}

// RememberDev writes down where beeos dev runs, for commands that are given in
// other folders. It has no keys in it: those stay in the data folder.
func RememberDev(data string) error {
	path, err := lastDevPath()
	if err != nil {
		return err
	}
	whole, err := filepath.Abs(data)
	if err != nil {
		return fmt.Errorf("remember the data folder: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("remember the data folder: %w", err)
	}
	if err := os.WriteFile(path+".new", []byte(whole+"\n"), 0o600); err != nil {
		return fmt.Errorf("remember the data folder: %w", err)
	}
	return os.Rename(path+".new", path)
}

func readLastDev() (string, error) {
	path, err := lastDevPath()
	if err != nil {
		return "", err
	}
	b, err := os.ReadFile(path)
	return strings.TrimSpace(string(b)), err
}

func lastDevPath() (string, error) {
	folder, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the user's configuration folder: %w", err)
	}
	return filepath.Join(folder, "beeos", "last-dev"), nil
}
