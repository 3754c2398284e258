//go:build unix

package httpd

import "syscall"

// descriptorLimit is how many files and connections this process may have open;
// 0 = nobody knows.
func descriptorLimit() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil || l.Cur > 1<<30 {
		return 0
	}
	return int(l.Cur)
}
