package memory

import (
	"reflect"
	"testing"
)

// Each share of a memory is in proportion to it: four times as much for 1 GiB as for 256 MiB, and one and a half times
// as much for 384 MiB. The default of the heap, 160 MiB, is the limit with which a loaded server stays below 256 MB.
func TestOf(t *testing.T) {
	t.Parallel()
	shares := Of(0)
	if shares != Of(Default) || shares.Heap != 160<<20 {
		t.Errorf("%+v are not those of the default, %+v", shares, Of(Default))
	}
	for memory, percent := range map[int64]int64{Default: 100, 384 << 20: 150, 1 << 30: 400, 64 << 30: 25600} {
		got, want := reflect.ValueOf(Of(memory)), reflect.ValueOf(shares)
		for i := range got.NumField() {
			if n, base := got.Field(i).Int(), want.Field(i).Int(); n != base/100*percent+base%100*percent/100 || n == 0 {
				t.Errorf("%d MiB: %s is %d, and %d of the default", memory>>20, got.Type().Field(i).Name, n, base)
			}
		}
	}
}

// A memory below the default is an error, and a memory that the machine does not have.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		bytes, machine int64
		want           string
	}{
		{0, 1 << 20, ""},
		{Default, 1 << 20, ""},
		{1 << 30, 1 << 30, ""},
		{1 << 40, 0, ""}, // the memory of the machine is not found out
		{1, 1 << 30, "1 bytes are not enough: choose 256 MB (268435456) or more"},
		{-1, 1 << 30, "-1 bytes are not enough: choose 256 MB (268435456) or more"},
		{Default - 1, 1 << 30, "268435455 bytes are not enough: choose 256 MB (268435456) or more"},
		{1<<30 + 1<<20, 1 << 30, "1025 MB are more than this process can have: choose at most 1024 MB"},
	} {
		got := ""
		if err := check(test.bytes, test.machine); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%d of %d bytes: %q, want %q", test.bytes, test.machine, got, test.want)
		}
	}
	if err := Check(1 << 62); machine() > 0 && err == nil {
		t.Errorf("no machine has so much memory, and this one %d bytes", machine())
	}
}
