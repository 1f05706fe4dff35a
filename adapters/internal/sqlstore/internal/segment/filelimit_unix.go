//go:build unix

package segment

import "syscall"

// fileLimit returns how many descriptors the process may have.
func fileLimit() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return maxDescriptors
	}
	return uint64(limit.Cur)
}
