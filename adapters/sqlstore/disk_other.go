//go:build !linux && !darwin && !freebsd

package sqlstore

// freeDisk is not known here.
func freeDisk(string) (int64, bool) { return 0, false }
