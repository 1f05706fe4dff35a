package sqlstore

import "testing"

// Sizes of files that do not exist are unknown, and sizes of existing ones are
// positive.
func TestStore_Size(t *testing.T) {
	for name, want := range map[string]struct{ database, wal, free bool }{
		"memory": {false, false, false}, "disk": {true, true, true}, "postgres": {true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := allStores[name](t).Size(t.Context())
			for _, c := range []struct {
				what  string
				bytes int64
				known bool
			}{{"database", got.Database, want.database}, {"WAL", got.WAL, want.wal}, {"free", got.Free, want.free}} {
				if (c.bytes >= 0) != c.known || c.known && c.what != "WAL" && c.bytes == 0 {
					t.Errorf("%s is %d bytes", c.what, c.bytes)
				}
			}
			if got.Segments != 0 {
				t.Errorf("segments are %d bytes", got.Segments)
			}
		})
	}
}
