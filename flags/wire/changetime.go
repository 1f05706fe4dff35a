package wire

import (
	"io/fs"
	"reflect"
	"time"
)

// ChangeTime returns the time at which the content, the times or the location of a file last
// changed (ctime). Unlike the modification time it also changes if a file is copied with its times
// preserved. The result is zero if the operating system does not report it, as on Windows.
func ChangeTime(info fs.FileInfo) time.Time {
	sys := reflect.ValueOf(info.Sys()) // *syscall.Stat_t, which differs among systems
	if sys.Kind() != reflect.Pointer || sys.Elem().Kind() != reflect.Struct {
		return time.Time{}
	}
	// The field has one name on Linux and another one on macOS and the BSDs.
	for _, name := range []string{"Ctim", "Ctimespec"} {
		ctime := sys.Elem().FieldByName(name)
		if ctime.Kind() != reflect.Struct {
			continue
		}
		// The fields have different integer types on different systems.
		seconds, nanoseconds := ctime.FieldByName("Sec"), ctime.FieldByName("Nsec")
		if seconds.CanInt() && nanoseconds.CanInt() {
			return time.Unix(seconds.Int(), nanoseconds.Int())
		}
	}
	return time.Time{}
}
