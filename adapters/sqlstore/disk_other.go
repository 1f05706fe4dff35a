//go:build !linux && !darwin && !freebsd

package sqlstore

// freeDisk reports that the free space cannot be determined on this system.
func freeDisk(string) (int64, bool) { return 0, false }
