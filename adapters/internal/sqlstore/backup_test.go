package sqlstore

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/copies"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

func noProgress(string, int64, int64) {}

// newBackedUpStore returns a store on disk with n events, its path, and a backup of it.
func newBackedUpStore(t *testing.T, n int) (s *Store, path, file string, done copies.CopyResult) {
	t.Helper()
	path, file = filepath.Join(t.TempDir(), "bunting.db"), filepath.Join(t.TempDir(), "copy.db")
	s = openStore(t, "sqlite:"+path)
	if err := commitEvents(s, 0, n); err != nil {
		t.Fatal(err)
	}
	done, err := copies.Backup(context.Background(), path, "", file, noProgress)
	if err != nil {
		t.Fatal(err)
	}
	return s, path, file, done
}

// A backup contains data that is only in the write-ahead log, which a plain copy of the
// file does not. It does not contain data committed after its beginning.
func TestBackup_HasTheLog(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "bunting.db")
	s := openStore(t, "sqlite:"+path)
	s.db.Checkpoints.Close() // now everything stays in the log
	s.db.Checkpoints = nil
	if err := commitEvents(s, 0, 100); err != nil {
		t.Fatal(err)
	}
	bare, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := commitEvents(s, 100, 100); err != nil {
		t.Fatal(err)
	}
	var copied bytes.Buffer
	if err := snapshot.Copy(ctx, &copied, nil); err != nil {
		t.Fatal(err)
	}
	if err := snapshot.Close(); err != nil {
		t.Fatal(err)
	}
	if int64(copied.Len()) != snapshot.Size {
		t.Errorf("%d bytes, %d were announced", copied.Len(), snapshot.Size)
	}
	for name, tt := range map[string]struct {
		file []byte
		want int
	}{"a backup": {copied.Bytes(), 100}, "a copy of bunting.db alone": {bare, 0}} {
		file := filepath.Join(t.TempDir(), "x.db")
		if err := os.WriteFile(file, tt.file, 0o600); err != nil {
			t.Fatal(err)
		}
		if n := countEvents(t, openStore(t, "sqlite:"+file)); n != tt.want {
			t.Errorf("%s: %d events, want %d", name, n, tt.want)
		}
	}
}

// A backup can be read without further files, even in a folder that is not writable.
func TestBackup_IsOneFile(t *testing.T) {
	_, _, file, done := newBackedUpStore(t, 50)
	if done.Events != 50 || done.Schema != database.NewestSchema() || done.Schema < 5 || len(done.SHA256) != 64 {
		t.Errorf("%+v", done)
	}
	names, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*"))
	if err != nil || len(names) != 1 {
		t.Errorf("beside the backup there is %v, %v", names, err)
	}
	text, err := os.ReadFile(file)
	if err != nil || int64(len(text)) != done.Size || text[18] != 1 || text[19] != 1 { // §1.3.3 of SQLite's file format: 1 means no log
		t.Errorf("%d bytes, versions %v, %v", len(text), text[18:20], err)
	}
}

func TestBackup_Rejects(t *testing.T) {
	ctx := context.Background()
	s, path, file, _ := newBackedUpStore(t, 2000)
	damaged, foreign := filepath.Join(t.TempDir(), "damaged.db"), filepath.Join(t.TempDir(), "foreign.db")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(text) / 2; i < len(text)*3/4; i++ {
		text[i] ^= 0x5a
	}
	if err := os.WriteFile(damaged, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(foreign, []byte("not a database, but long enough to look at"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Write.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)`); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ from, to, want string }{
		"it is there":     {path, file, "already exists"},
		"no database":     {filepath.Join(t.TempDir(), "none.db"), filepath.Join(t.TempDir(), "b.db"), "there is no database"},
		"no folder":       {file, filepath.Join(t.TempDir(), "none", "b.db"), "no such file or directory"},
		"something else":  {foreign, filepath.Join(t.TempDir(), "b.db"), "choose another name"},
		"damaged":         {damaged, filepath.Join(t.TempDir(), "b.db"), "damaged"},
		"a newer version": {path, filepath.Join(t.TempDir(), "b.db"), "schema 999"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := copies.Backup(ctx, tt.from, "", tt.to, noProgress)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if remaining, _ := filepath.Glob(tt.to + ".*"); len(remaining) > 0 {
				t.Errorf("%v is left", remaining)
			}
		})
	}
	for name, s := range map[string]*Store{"memory": sqliteStores["memory"](t), "postgres": postgresStore(t)} {
		if _, err := s.Snapshot(ctx); !errors.Is(err, errNoSnapshot) || s.File() != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// slowWriter commits events while a copy writes to it.
type slowWriter struct{ write func() error }

func (w slowWriter) Write(p []byte) (int, error) { return len(p), w.write() }

// A copy that is slower than concurrent commits is aborted before the log fills the
// disk.
func TestBackup_LogGrows(t *testing.T) {
	s, _, _, _ := newBackedUpStore(t, 10)
	snapshot, err := s.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = snapshot.Close() }()
	if snapshot.LogLimit <= snapshot.LogSize() {
		t.Errorf("the log may become %d bytes long and is %d", snapshot.LogLimit, snapshot.LogSize())
	}
	snapshot.LogLimit = snapshot.LogSize()
	n := 100
	err = snapshot.Copy(context.Background(), slowWriter{func() error {
		n += 1000
		return commitEvents(s, n, 1000)
	}}, nil)
	if !errors.Is(err, copies.ErrLogGrows) {
		t.Errorf("%v, want %v", err, copies.ErrLogGrows)
	}
}

func TestRestore(t *testing.T) {
	ctx := context.Background()
	s, path, file, _ := newBackedUpStore(t, 30)
	if _, _, err := copies.Restore(ctx, file, path, "", true, noProgress); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("under a running server: %v", err)
	}
	if err := commitEvents(s, 100, 5); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := copies.Restore(ctx, file, path, "", false, noProgress); err == nil || !strings.Contains(err.Error(), "--replace") {
		t.Errorf("over a database: %v", err)
	}
	done, old, err := copies.Restore(ctx, file, path, "", true, noProgress)
	if err != nil || done.Events != 30 {
		t.Fatalf("%+v, %v", done, err)
	}
	for path, want := range map[string]int{path: 30, old.Database: 35} {
		if n := countEvents(t, openStore(t, "sqlite:"+path)); n != want {
			t.Errorf("%s: %d events, want %d", path, n, want)
		}
	}
	// The log of the replaced database is not applied to the restored one.
	other := filepath.Join(t.TempDir(), "new", "bunting.db")
	if err := os.MkdirAll(filepath.Dir(other), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"-wal", "-shm"} {
		if err := os.WriteFile(other+end, bytes.Repeat([]byte{7}, 40_000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, old, err := copies.Restore(ctx, file, other, "", false, noProgress); err != nil || old.Database != "" {
		t.Fatal(old, err)
	}
	if n := countEvents(t, openStore(t, "sqlite:"+other)); n != 30 {
		t.Errorf("%d events, want 30", n)
	}
}

// A backup that is canceled leaves no files.
func TestBackup_Stopped(t *testing.T) {
	_, path, _, _ := newBackedUpStore(t, 10)
	to := filepath.Join(t.TempDir(), "b.db")
	ctx, cancel := context.WithCancel(context.Background())
	_, err := copies.Backup(ctx, path, "", to, func(what string, _, _ int64) {
		if what == "checking" {
			cancel()
		}
	})
	if err == nil {
		t.Error("it was stopped and says nothing")
	}
	if remaining, _ := filepath.Glob(to + "*"); len(remaining) > 0 {
		t.Errorf("%v is left", remaining)
	}
	cancel()
}

// While a backup replaces a database, a database exists at any moment: a server that
// started in between would create an empty one.
func TestRestore_NeverWithoutADatabase(t *testing.T) {
	s, path, file, _ := newBackedUpStore(t, 50)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ended, missing := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			if _, err := os.Lstat(path); err != nil {
				n++
			}
			select {
			case <-ended:
				missing <- n
				return
			default:
			}
		}
	}()
	_, old, err := copies.Restore(context.Background(), file, path, "", true, noProgress)
	close(ended)
	if n := <-missing; err != nil || n > 0 {
		t.Errorf("%v; the database was seen missing %d times", err, n)
	}
	for _, name := range []string{path, old.Database} {
		if err := openStore(t, "sqlite:"+name).Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
