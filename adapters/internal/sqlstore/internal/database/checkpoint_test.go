package database

import (
	"encoding/binary"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// readLog returns the salts in the header of SQLite's log, which differ each time it starts from its
// beginning, and the numbers of pages in the file with these salts and with others
// (https://sqlite.org/fileformat2.html#walformat). All are 0 if the log is empty.
func readLog(t *testing.T, path string) (salts uint64, current, old int) {
	t.Helper()
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if len(log) == 0 {
		return 0, 0, 0
	}
	salts = binary.BigEndian.Uint64(log[16:])
	size := int(binary.BigEndian.Uint32(log[8:])) + 24
	for frame := log[32:]; len(frame) >= size; frame = frame[size:] {
		if binary.BigEndian.Uint64(frame[8:]) == salts {
			current++
		} else {
			old++
		}
	}
	return salts, current, old
}

// With the table of Litestream, no page is left behind a log that has started from its beginning.
// Otherwise the file keeps its size, so that later commits need no new space.
func TestCheckpointer_CutsLogForLitestream(t *testing.T) {
	for name, isReplicated := range map[string]bool{"alone": false, "with Litestream": true} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			db, err := Open(t.Context(), "sqlite:"+path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			commit := func(text string) {
				t.Helper()
				if _, err := db.Write.ExecContext(t.Context(), text); err != nil {
					t.Fatal(err)
				}
				db.Checkpoints.WakeUp()
			}
			deadline := time.Now().Add(2 * time.Minute)
			wait := func() {
				t.Helper()
				if time.Now().After(deadline) {
					t.Fatal("the log does not change")
				}
				time.Sleep(10 * time.Millisecond)
			}
			commit(`CREATE TABLE texts (text TEXT)`)
			if isReplicated {
				commit(`CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)`)
			}
			db.Start(slog.New(slog.DiscardHandler))
			for salts := uint64(1); salts != 0; salts, _, _ = readLog(t, path) {
				wait() // until the log is emptied, as after each start
			}
			commit(`INSERT INTO texts VALUES (hex(randomblob(50000)))`) // 25 pages
			began, _, _ := readLog(t, path)
			salts, current, old := began, 0, 0
			for salts == began {
				wait()
				commit(`INSERT INTO texts VALUES ('short')`)
				salts, current, old = readLog(t, path)
			}
			if hasOld := old > 0; hasOld == isReplicated || current == 0 {
				t.Errorf("%d pages of the old log are behind %d of the new one", old, current)
			}
		})
	}
}
