package database

import "os"

// FileSize returns the size of a file in bytes, or -1.
func FileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return info.Size()
}
