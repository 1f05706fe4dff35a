package wire_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/fstest"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

func TestChangeTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	old := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	before := time.Now().Add(-time.Minute) // file systems have clocks of their own
	write := func() time.Time {
		t.Helper()
		if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return wire.ChangeTime(info)
	}
	if at := write(); at.Before(before) && runtime.GOOS != "windows" {
		t.Errorf("changed %v, though it was written after %v", at, before)
	}
	info, err := fstest.MapFS{"a": {Sys: "text"}}.Stat("a")
	if err != nil || !wire.ChangeTime(info).IsZero() {
		t.Errorf("%v, %v of a file that has none", wire.ChangeTime(info), err)
	}
	info, err = fstest.MapFS{"a": {Sys: &struct{ Ctim struct{ Sec string } }{}}}.Stat("a")
	if err != nil || !wire.ChangeTime(info).IsZero() {
		t.Errorf("%v, %v of a file whose time is another thing", wire.ChangeTime(info), err)
	}
}
