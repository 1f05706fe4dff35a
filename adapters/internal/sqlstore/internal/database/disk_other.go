//go:build !linux && !darwin && !freebsd

package database

// FreeDisk reports that the free space cannot be determined on this system.
func FreeDisk(string) (int64, bool) { return 0, false }

// SameDisk reports that two folders are on the same disk, because that cannot be determined on this
// system.
func SameDisk(_, _ string) bool { return true }
