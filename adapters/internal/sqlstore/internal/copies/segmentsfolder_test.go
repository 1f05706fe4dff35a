package copies

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
)

// A folder of segments belongs to the first database that uses it. Another database, and the same
// one with another folder, are refused: a server removes files that its database does not list. After
// a restore the folder belongs to the restored database.
func TestClaimFolder(t *testing.T) {
	t.Parallel()
	claimFolder := func(path, dir string) error {
		s, err := openForMove(t.Context(), "sqlite:"+path)
		if err != nil {
			t.Fatal(err)
		}
		if dir == "" {
			return errors.Join(ClaimFolder(t.Context(), s.db, nil), s.Close())
		}
		folder, err := segment.OpenFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		return errors.Join(ClaimFolder(t.Context(), s.db, folder), s.Close(), folder.Close())
	}
	first, second, dir := newDatabase(t), newDatabase(t), filepath.Join(t.TempDir(), "new", "segments")
	for range 2 {
		if err := claimFolder(first, dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := claimFolder(first, t.TempDir()); err != nil { // no file is listed yet, so the folder may still be changed
		t.Error(err)
	}
	changeDatabase(t, first, insertSegments())
	for name, content := range segmentFiles() {
		writeSegment(t, dir, name, content)
	}
	const foreign, wrong = "belong to another database: choose another folder with --segments", "is not the folder of this database, which lists 2 segment files"
	for name, c := range map[string]struct{ path, dir, want string }{
		"again":             {first, dir, ""},
		"without a folder":  {first, "", ""},
		"another database":  {second, dir, foreign},
		"another folder":    {first, t.TempDir(), wrong},
		"files of somebody": {second, newSegments(t), foreign},
	} {
		if err := claimFolder(c.path, c.dir); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	file, to, restored := filepath.Join(t.TempDir(), "backup.db"), filepath.Join(t.TempDir(), "bunting.db"), t.TempDir()
	if err := claimFolder(second, restored); err != nil {
		t.Fatal(err)
	}
	writeSegment(t, restored, firstSegment, nil)
	if _, err := Backup(t.Context(), first, dir, file, noProgress); err != nil {
		t.Fatal(err)
	}
	_, old, err := Restore(t.Context(), file, to, restored, true, noProgress)
	if err != nil {
		t.Fatal(err)
	}
	if err := claimFolder(to, restored); err != nil {
		t.Errorf("restored: %v", err)
	}
	if err := claimFolder(second, old.Segments); err != nil {
		t.Errorf("replaced: %v", err)
	}
	if err := claimFolder(second, restored); err == nil || !strings.Contains(err.Error(), foreign) {
		t.Errorf("the database that had the folder before: %v", err)
	}
	if err := os.WriteFile(filepath.Join(restored, segment.OwnerFile), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := claimFolder(to, restored); err == nil || !strings.Contains(err.Error(), "does not have the number of a database") {
		t.Errorf("a damaged number: %v", err)
	}
}
