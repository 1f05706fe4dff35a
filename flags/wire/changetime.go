package wire

import (
	"io/fs"
	"reflect"
	"time"
)

// ChangeTime is when anything about a file was last changed: its content, its times, its
// place. A copy that keeps the time of modification changes it all the same. Zero where
// the operating system does not tell, as Windows.
func ChangeTime(info fs.FileInfo) time.Time {
	sys := reflect.ValueOf(info.Sys()) // *syscall.Stat_t, which differs among systems
	if sys.Kind() != reflect.Pointer || sys.Elem().Kind() != reflect.Struct {
		return time.Time{}
	}
	for _, name := range []string{"Ctim", "Ctimespec"} {
		ctime := sys.Elem().FieldByName(name)
		if ctime.Kind() != reflect.Struct {
			continue
		}
		seconds, nanoseconds := ctime.FieldByName("Sec"), ctime.FieldByName("Nsec")
		if seconds.CanInt() && nanoseconds.CanInt() {
			return time.Unix(seconds.Int(), nanoseconds.Int())
		}
	}
	return time.Time{}
}
