//go:build linux || darwin || freebsd

package database

import "syscall"

// FreeDisk returns the number of bytes that this user can still write to the file
// system of a folder, and whether the number could be determined.
func FreeDisk(folder string) (int64, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
