//go:build unix

package cli

import "syscall"

// freeDisk returns how many bytes this user may still write below path.
func freeDisk(path string) (uint64, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(path, &fs); err != nil {
		return 0, err
	}
	return fs.Bavail * uint64(fs.Bsize), nil //nolint:gosec,unconvert // the types differ between systems
}
