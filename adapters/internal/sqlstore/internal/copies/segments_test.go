package copies

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
)

// The names of two segment files.
const (
	firstSegment  = "project=1/received=2026-11-22/00000000000000000001-00000000000000131072-1.parquet"
	secondSegment = "project=7/received=2026-11-23/00000000000000131073-00000000000000262144-2.parquet"
)

// segmentFiles are two files: one is short, and the other has two and a half parts.
func segmentFiles() map[string][]byte {
	long, random := make([]byte, 2*partSize+partSize/2), rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(long) // never fails
	return map[string][]byte{firstSegment: []byte("123456789"), secondSegment: long}
}

// insertSegments returns a statement that lists segmentFiles. The checksum of the short file is the
// check value of CRC-32C, as in the catalogue of parametrised CRC algorithms.
func insertSegments() string {
	return fmt.Sprintf(`INSERT INTO event_segments (project_id, first_id, last_id, generation, events, bytes, last_arrived, checksum, name) VALUES
		(1, 1, 131072, 1, 131072, 9, 5, 3808858755, '%s'), (7, 131073, 262144, 2, 131072, %d, 6, %d, '%s')`,
		firstSegment, 2*partSize+partSize/2, crc32.Checksum(segmentFiles()[secondSegment], crc32.MakeTable(crc32.Castagnoli)), secondSegment)
}

// newSegments returns a folder with the files of segmentFiles.
func newSegments(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, content := range segmentFiles() {
		writeSegment(t, dir, name, content)
	}
	return dir
}

func writeSegment(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// readSegments returns the files below a folder, except those of locks.
func readSegments(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(name, ".parquet") {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		out[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// isSegmentFiles reports whether files are those of segmentFiles.
func isSegmentFiles(files map[string]string) bool {
	for name, content := range segmentFiles() {
		if files[name] != string(content) {
			return false
		}
	}
	return len(files) == 2
}

func mustGetwd(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// backUp writes a backup of a database with segmentFiles.
func backUp(t *testing.T) (file string, result CopyResult) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "backup.db")
	result, err := Backup(t.Context(), newDatabase(t, insertPersons(3), insertSegments()), newSegments(t), file, noProgress)
	if err != nil {
		t.Fatal(err)
	}
	return file, result
}

// A backup is one SQLite file, which has the segment files in parts of at most one MiB. The progress
// counts their bytes too.
func TestBackup_Segments(t *testing.T) {
	t.Parallel()
	path, dir, to := newDatabase(t, insertSegments()), newSegments(t), filepath.Join(t.TempDir(), "copy.db")
	var last, end int64
	result, err := Backup(t.Context(), path, dir, to, func(what string, done, total int64) {
		if what != "copying" {
			return
		}
		if done < last || done > total || total < 9+2*partSize+partSize/2 {
			t.Errorf("%d of %d bytes after %d", done, total, last)
		}
		last, end = done, total
	})
	if err != nil || result.Segments != 2 || last != end {
		t.Fatalf("%+v after %d of %d bytes, %v", result, last, end, err)
	}
	want := result
	if err := result.measure(to); err != nil || result != want {
		t.Errorf("%+v, want %+v, %v", result, want, err)
	}
	for query, want := range map[string]int64{
		`SELECT COUNT(*) FROM segment_files`:                                               4, // parts: one, and three
		`SELECT MAX(LENGTH(data)) FROM segment_files`:                                      partSize,
		`SELECT SUM(LENGTH(data)) FROM segment_files`:                                      9 + 2*partSize + partSize/2,
		`SELECT part FROM segment_files WHERE LENGTH(data) = ` + fmt.Sprint(partSize/2):    2,
		`SELECT COUNT(*) FROM segment_files JOIN event_segments USING (name)`:              4,
		`SELECT COUNT(*) FROM segment_files WHERE data = CAST('123456789' AS BLOB)`:        1,
		`SELECT COUNT(*) FROM sqlite_schema WHERE name = 'segment_files' AND sql NOT NULL`: 1,
	} {
		if got := readNumber(t, to, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	if names, err := filepath.Glob(to + "?*"); err != nil || len(names) > 0 {
		t.Errorf("beside the backup there is %q, %v", names, err)
	}
	// A backup cannot be opened as a database, since the events of its segment files would be missing,
	// and it cannot be copied as one.
	s, err := openForMove(t.Context(), "sqlite:"+to)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(CheckComplete(t.Context(), s.db), s.Close()); !errors.Is(err, errIsBackup) {
		t.Errorf("opened: %v", err)
	}
	if _, err := Backup(t.Context(), to, dir, to+".2", noProgress); !errors.Is(err, errIsBackup) {
		t.Errorf("copied: %v", err)
	}
	if _, err := Move(t.Context(), "sqlite:"+to, "sqlite:"+to+".3", noProgress); !errors.Is(err, errIsBackup) {
		t.Errorf("moved: %v", err)
	}
}

// A backup fails if a segment file is missing or is not what the catalogue lists, and leaves nothing
// behind.
func TestBackup_SegmentsRejected(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(dir string) error // of the files
		want   string
	}{
		"a missing file": {func(dir string) error { return os.Remove(filepath.Join(dir, secondSegment)) }, secondSegment},
		"a shorter file": {func(dir string) error { return os.Truncate(filepath.Join(dir, secondSegment), 5) }, "it is damaged: 5 bytes"},
		"a longer file":  {func(dir string) error { return os.Truncate(filepath.Join(dir, firstSegment), 10) }, "it is damaged: 10 bytes"},
		"another byte": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, firstSegment), []byte("123456780"), 0o600)
		}, "it is damaged: 9 bytes with the checksum"},
		"no folder": {os.RemoveAll, "no such file"},
	} {
		dir, to := newSegments(t), filepath.Join(t.TempDir(), "copy.db")
		if err := c.change(dir); err != nil {
			t.Fatal(err)
		}
		_, err := Backup(t.Context(), newDatabase(t, insertSegments()), dir, to, noProgress)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if names, err := filepath.Glob(to + "*"); err != nil || len(names) > 0 {
			t.Errorf("%s: %q is left, %v", name, names, err)
		}
	}
	if _, err := Backup(t.Context(), newDatabase(t, insertSegments()), "", filepath.Join(t.TempDir(), "copy.db"), noProgress); !errors.Is(err, events.ErrNoFolder) {
		t.Errorf("without a folder: %v", err)
	}
}

// While a backup is written, a server that removes a segment file keeps it until the end of the
// backup.
func TestBackup_HoldsSegments(t *testing.T) {
	t.Parallel()
	dir := newSegments(t)
	server, err := segment.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	isRemoved := false
	_, err = Backup(t.Context(), newDatabase(t, insertSegments()), dir, filepath.Join(t.TempDir(), "copy.db"), func(string, int64, int64) {
		if !isRemoved {
			isRemoved = true
			if err := server.Remove(secondSegment); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil || !isRemoved {
		t.Fatalf("removed: %v, %v", isRemoved, err)
	}
	if err := server.Remove(firstSegment); err != nil { // removes what had to stay
		t.Error(err)
	}
	if left := readSegments(t, dir); len(left) > 0 {
		t.Errorf("%d files are left", len(left))
	}
}

// A restore writes the segment files to their folder, and not into the database. What was there
// before is moved, but only if it may be replaced.
func TestRestore_Segments(t *testing.T) {
	t.Parallel()
	backup, written := backUp(t)
	to, dir := filepath.Join(t.TempDir(), "new", "bunting.db"), filepath.Join(t.TempDir(), "new", "segments")
	result, old, err := Restore(t.Context(), backup, to, dir, false, noProgress)
	if err != nil || old != (Replaced{}) || result.Segments != 2 || result.Schema != written.Schema {
		t.Fatalf("%+v, %q, %v", result, old, err)
	}
	if !isSegmentFiles(readSegments(t, dir)) {
		t.Error("the files differ")
	}
	want := result
	if err := result.measure(to); err != nil || result != want || result.Size > written.Size-2*partSize {
		t.Errorf("%+v of %d bytes, want %+v, %v", result, written.Size, want, err)
	}
	for query, want := range map[string]int64{
		`SELECT COUNT(*) FROM persons`: 3, `SELECT COUNT(*) FROM event_segments`: 2, `PRAGMA freelist_count`: 0,
		`SELECT COUNT(*) FROM sqlite_schema WHERE name = 'segment_files'`: 0,
	} {
		if got := readNumber(t, to, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}

	// Paths may be relative.
	relative := t.TempDir()
	name, err := filepath.Rel(mustGetwd(t), relative)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Restore(t.Context(), backup, filepath.Join(name, "bunting.db"), filepath.Join(name, "segments"), false, noProgress); err != nil || !isSegmentFiles(readSegments(t, relative+"/segments")) {
		t.Errorf("relative paths: %v", err)
	}

	// A second store, whose file has the name of one of the backup.
	other := newDatabase(t, insertPersons(7))
	dir = t.TempDir()
	writeSegment(t, dir, firstSegment, []byte("of the old store"))
	if _, _, err := Restore(t.Context(), backup, filepath.Join(t.TempDir(), "bunting.db"), dir, false, noProgress); err == nil || !strings.Contains(err.Error(), dir+" already has segment files") {
		t.Errorf("over files: %v", err)
	}
	if files := readSegments(t, dir); len(files) != 1 || files[firstSegment] != "of the old store" {
		t.Errorf("after a refusal: %q", files)
	}
	_, old, err = Restore(t.Context(), backup, other, dir, true, noProgress)
	if err != nil || !strings.HasPrefix(old.Segments, filepath.Join(dir, "before-")) || readNumber(t, old.Database, `SELECT COUNT(*) FROM persons`) != 7 {
		t.Fatalf("%+v, %v", old, err)
	}
	if files := readSegments(t, old.Segments); len(files) != 1 || files[firstSegment] != "of the old store" {
		t.Errorf("the old files are %q", files)
	}
	if err := os.RemoveAll(old.Segments); err != nil || !isSegmentFiles(readSegments(t, dir)) {
		t.Errorf("the files differ, %v", err)
	}
	if names, err := filepath.Glob(filepath.Join(dir, "*.part")); err != nil || len(names) > 0 {
		t.Errorf("%q is left, %v", names, err)
	}
	// The server that starts next uses the files of the backup only.
	folder, err := segment.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	if names, err := folder.Names(); err != nil || !slices.Equal(slices.Sorted(slices.Values(names)), []string{firstSegment, secondSegment}) {
		t.Errorf("%q, %v", names, err)
	}
}

// A restore that is refused, or that fails, changes neither the database nor the segment files.
func TestRestore_SegmentsRejected(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		statement string // changes the backup
		noFolder  bool
		want      string
	}{
		"no folder":             {"", true, "the backup contains 2 segment files: give a folder for them with --segments DIR"},
		"a database, no backup": {`DROP TABLE segment_files`, false, "is no backup: it lists 2 segment files, and does not contain them"},
		"a missing part":        {`DELETE FROM segment_files WHERE part = 1`, false, secondSegment + ": it is damaged"},
		"another byte":          {`UPDATE segment_files SET data = CAST('123456780' AS BLOB) WHERE LENGTH(data) = 9`, false, firstSegment + ": it is damaged"},
		"too many bytes":        {`INSERT INTO segment_files (name, part, data) SELECT name, 9, data FROM segment_files WHERE part = 0`, false, "it is damaged"},
		"a path":                {`UPDATE event_segments SET name = '../../' || name; UPDATE segment_files SET name = '../../' || name`, false, "is not the name of a segment"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backup, _ := backUp(t)
			if c.statement != "" {
				changeDatabase(t, backup, c.statement)
			}
			to, dir := newDatabase(t, insertPersons(7)), t.TempDir()
			writeSegment(t, dir, firstSegment, []byte("of the old store"))
			into := dir
			if c.noFolder {
				into = ""
			}
			if _, _, err := Restore(t.Context(), backup, to, into, true, noProgress); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if files := readSegments(t, dir); len(files) != 1 || files[firstSegment] != "of the old store" || readNumber(t, to, `SELECT COUNT(*) FROM persons`) != 7 {
				t.Errorf("the files are %q", files)
			}
			for _, pattern := range []string{to + ".*", filepath.Join(dir, "*")} {
				names, err := filepath.Glob(pattern)
				if names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, ".lock") || filepath.Base(name) == "project=1" }); err != nil || len(names) > 0 {
					t.Errorf("%q is left, %v", names, err)
				}
			}
		})
	}
}

// A move takes the list of segment files to the new database, and leaves the files where they are.
func TestMove_Segments(t *testing.T) {
	t.Parallel()
	dir, to := newSegments(t), filepath.Join(t.TempDir(), "to.db")
	result, err := Move(t.Context(), "sqlite:"+newDatabase(t, insertSegments(), `INSERT INTO event_erased (project_id, id) VALUES (1, 5), (7, 131073)`), "sqlite:"+to, noProgress)
	if err != nil || result.Segments != 2 {
		t.Fatalf("%+v, %v", result, err)
	}
	for query, want := range map[string]int64{`SELECT SUM(checksum + bytes + generation) FROM event_segments`: sumOfSegments(), `SELECT SUM(id) FROM event_erased`: 131078} {
		if got := readNumber(t, to, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	if !isSegmentFiles(readSegments(t, dir)) {
		t.Error("the files differ")
	}
}

// sumOfSegments returns the sum of checksums, sizes and generations in insertSegments.
func sumOfSegments() int64 {
	long := segmentFiles()[secondSegment]
	return 3808858755 + 9 + 1 + int64(crc32.Checksum(long, crc32.MakeTable(crc32.Castagnoli))) + int64(len(long)) + 2
}

// An examination reports the segment files that are missing or damaged, and those that the database
// does not list. Without their folder, or with another one, they are all missing.
func TestExamine_Segments(t *testing.T) {
	t.Parallel()
	path := newDatabase(t, insertSegments())
	const other = "project=1/received=2026-11-22/00000000000000000001-00000000000000131072-2.parquet"
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		dir    string // "" is a folder with the files, "-" is none
		faults []string
		others []string
	}{
		"as listed":      {},
		"no folder":      {dir: "-", faults: []string{"give their folder with --segments DIR"}},
		"a wrong folder": {dir: filepath.Join(t.TempDir(), "none"), faults: []string{"no such file"}},
		"another folder": {dir: t.TempDir(), faults: []string{firstSegment, secondSegment}},
		"a missing file": {change: func(t *testing.T, dir string) { _ = os.Remove(filepath.Join(dir, firstSegment)) }, faults: []string{firstSegment}},
		"a shorter file": {change: func(t *testing.T, dir string) { _ = os.Truncate(filepath.Join(dir, secondSegment), 7) }, faults: []string{"it has 7 bytes instead of 2621440"}},
		"other files": {change: func(t *testing.T, dir string) {
			writeSegment(t, dir, other, nil)
			writeSegment(t, dir, other+".tmp", nil)
		}, others: []string{other, other + ".tmp"}},
	} {
		dir := c.dir
		switch dir {
		case "":
			dir = newSegments(t)
		case "-":
			dir = ""
		}
		if c.change != nil {
			c.change(t, dir)
		}
		got, err := Examine(t.Context(), "sqlite:"+path, dir, true)
		if err != nil || len(got.Faults) > 0 || got.Segments != 2 || got.SegmentBytes != 9+2*partSize+partSize/2 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if !slices.EqualFunc(got.SegmentFaults, c.faults, strings.Contains) || !slices.Equal(slices.Sorted(slices.Values(got.Unlisted)), c.others) {
			t.Errorf("%s: faults %q, not listed %q", name, got.SegmentFaults, got.Unlisted)
		}
	}
	// Only a full examination reads the files: their checksums, and then their events, which these
	// files do not have.
	dir := newSegments(t)
	if err := os.WriteFile(filepath.Join(dir, firstSegment), bytes.Repeat([]byte{1}, 9), 0o600); err != nil {
		t.Fatal(err)
	}
	for quick, want := range map[bool]int{true: 0, false: 2} {
		if got, err := Examine(t.Context(), "sqlite:"+path, dir, quick); err != nil || len(got.SegmentFaults) != want {
			t.Errorf("quick %v: %q, %v", quick, got.SegmentFaults, err)
		}
	}
}
