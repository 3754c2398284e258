//go:build linux || darwin

package app

import "syscall"

// diskSpace is how many bytes of the disk that has a folder are free for us, and
// how many it has; both 0 where that cannot be found out.
func diskSpace(folder string) (free, total uint64) {
	var st syscall.Statfs_t
	if syscall.Statfs(folder, &st) != nil {
		return 0, 0
	}
	return st.Bavail * uint64(st.Bsize), st.Blocks * uint64(st.Bsize)
}
