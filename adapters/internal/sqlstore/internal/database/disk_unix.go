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

// SameDisk reports whether two folders are on the same file system, and true if that cannot be
// determined.
func SameDisk(one, other string) bool {
	var a, b syscall.Stat_t
	return syscall.Stat(one, &a) != nil || syscall.Stat(other, &b) != nil || a.Dev == b.Dev
}
