package copies

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

// The result describes the file that was written: its size, its hash, its schema and its events.
// Only the owner may read it.
func TestBackup_Result(t *testing.T) {
	t.Parallel()
	path, to := newDatabase(t, insertPersons(50)), filepath.Join(t.TempDir(), "copy.db")
	var steps []string
	result, err := Backup(t.Context(), path, "", to, func(what string, done, total int64) {
		if !slices.Contains(steps, what) {
			steps = append(steps, what)
		}
		if what == "checking" && (done != 0 || total != 0) || what == "copying" && (done > total || done == 0) {
			t.Errorf("%s: %d of %d", what, done, total)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	if result.Size != int64(len(text)) || result.SHA256 != hex.EncodeToString(sum[:]) || result.Schema != database.NewestSchema() || result.Events != 0 || result.At.IsZero() {
		t.Errorf("%+v of %d bytes, %x", result, len(text), sum)
	}
	if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if want := []string{"copying", "checking"}; !slices.Equal(steps, want) {
		t.Errorf("steps %q", steps)
	}
	if n := readNumber(t, to, `SELECT COUNT(*) FROM persons`); n != 50 {
		t.Errorf("%d persons", n)
	}
}

// The header of SQLite's file format, §1.3: bytes 18 and 19 are 2 with a write-ahead log and 1
// without; 28 has the number of pages, which counts if 92 repeats the change counter in 24.
func TestWithoutLog(t *testing.T) {
	t.Parallel()
	page := make([]byte, 512)
	for i := range page {
		page[i] = byte(i)
	}
	before := bytes.Clone(page)
	got := withoutLog(page, 0x01020304)
	if !bytes.Equal(page, before) {
		t.Error("the page itself was changed")
	}
	want := before
	want[18], want[19] = 1, 1
	copy(want[28:32], []byte{1, 2, 3, 4})
	copy(want[92:96], []byte{24, 25, 26, 27})
	if !bytes.Equal(got, want) {
		t.Errorf("%v, want %v", got[:100], want[:100])
	}
}

// failingWriter fails after a number of bytes.
type failingWriter struct{ left int }

var errFullDisk = errors.New("the disk is full")

func (w *failingWriter) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errFullDisk
	}
	return len(b), nil
}

// A copy is written in pieces of one MiB, reports the bytes after each, and ends at the first error
// of the writer or the context.
func TestSnapshot_Copy(t *testing.T) {
	t.Parallel()
	path := newDatabase(t, `CREATE TABLE large (id INTEGER PRIMARY KEY, data BLOB)`, `INSERT INTO large (data) VALUES (zeroblob(1500000)), (zeroblob(1500000))`)
	copyTo := func(ctx context.Context, w *failingWriter) (pieces []int64, size int64, err error) {
		s, err := OpenSnapshot(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		err = s.Copy(ctx, w, func(written int64) { pieces = append(pieces, written) })
		return pieces, s.Size, err
	}
	pieces, size, err := copyTo(t.Context(), &failingWriter{1 << 30})
	if err != nil || int64(len(pieces)) != size>>20+1 || pieces[0] != 1<<20 || pieces[len(pieces)-1] != size || !slices.IsSorted(pieces) || size < 3_000_000 {
		t.Errorf("pieces %v of %d, %v", pieces, size, err)
	}
	if pieces, _, err = copyTo(t.Context(), &failingWriter{1<<20 + 1}); !errors.Is(err, errFullDisk) || !slices.Equal(pieces, []int64{1 << 20, 1 << 20}) {
		t.Errorf("a full disk: pieces %v, %v", pieces, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if pieces, _, err = copyTo(ended, &failingWriter{1 << 30}); !errors.Is(err, context.Canceled) || len(pieces) > 0 {
		t.Errorf("a client that has left: pieces %v, %v", pieces, err)
	}
	var missing *Snapshot
	if err := missing.Close(); err != nil {
		t.Error(err)
	}
}

// A file that changes its size between the beginning and the end of a copy is an error.
func TestSnapshot_WrongSize(t *testing.T) {
	t.Parallel()
	s, err := OpenSnapshot(t.Context(), newDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	s.Size += s.page
	var copied bytes.Buffer
	if err := s.Copy(t.Context(), &copied, nil); err == nil || !strings.Contains(err.Error(), "could be read") {
		t.Error(err)
	}
	// SQLite writes the number of pages of the header, which this file does not have.
	if pages := int64(binary.BigEndian.Uint32(copied.Bytes()[28:])); pages*s.page != s.Size {
		t.Errorf("%d pages", pages)
	}
}

// A restore keeps the old database under another name, with its log, and removes the log that a
// deleted database has left behind.
func TestRestore_Files(t *testing.T) {
	t.Parallel()
	backup := filepath.Join(t.TempDir(), "backup.db")
	if _, err := Backup(t.Context(), newDatabase(t, insertPersons(3)), "", backup, noProgress); err != nil {
		t.Fatal(err)
	}
	to := newDatabase(t, insertPersons(7))
	if _, _, err := Restore(t.Context(), backup, to, "", false, noProgress); err == nil || !strings.Contains(err.Error(), "use --replace") {
		t.Error(err)
	}
	if n := readNumber(t, to, `SELECT COUNT(*) FROM persons`); n != 7 {
		t.Errorf("%d persons after a refusal", n)
	}
	_, old, err := Restore(t.Context(), backup, to, "", true, noProgress)
	if err != nil || !strings.HasPrefix(old.Database, to+".before-") || old.Segments != "" {
		t.Fatalf("%q, %v", old, err)
	}
	for path, want := range map[string]int64{to: 3, old.Database: 7} {
		if n := readNumber(t, path, `SELECT COUNT(*) FROM persons`); n != want {
			t.Errorf("%s: %d persons, want %d", path, n, want)
		}
	}
	fresh := filepath.Join(t.TempDir(), "folder", "bunting.db")
	if err := errors.Join(os.MkdirAll(filepath.Dir(fresh), 0o700), os.WriteFile(fresh+"-wal", []byte("left behind"), 0o600), os.WriteFile(fresh+"-shm", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, old, err := Restore(t.Context(), backup, fresh, "", false, noProgress); err != nil || old != (Replaced{}) {
		t.Fatalf("%q, %v", old, err)
	}
	if names, err := filepath.Glob(fresh + "*"); err != nil || !slices.Equal(names, []string{fresh, fresh + ".lock"}) {
		t.Errorf("%q, %v", names, err)
	}
	// A backup that does not exist leaves the database as it was.
	if _, _, err := Restore(t.Context(), backup+".none", fresh, "", true, noProgress); err == nil || readNumber(t, fresh, `SELECT COUNT(*) FROM persons`) != 3 {
		t.Error(err)
	}
}
