//go:build linux || darwin || freebsd

package sqlstore

import "syscall"

// freeDisk is how many bytes this user may still write where a folder is.
func freeDisk(folder string) (int64, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
