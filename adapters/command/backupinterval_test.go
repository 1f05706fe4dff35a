package command

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
)

// newKey writes a key for backups with the command, and returns its file.
func newKey(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "backup.key")
	call(t, "", nil, "backup", "--new-key", file).Want(t, 0, "with the public key age1", "")
	return file
}

// serve --backup writes an encrypted backup after the start. restore reads it into a new data folder,
// whose server has the same flags and events. Without the key, and with another one, restore says
// what to do and creates no database.
func TestServe_Backup(t *testing.T) {
	key, folder, data := newKey(t), filepath.Join(t.TempDir(), "backups"), t.TempDir()
	s := serve(t, time.Minute, "--data", data)
	owner := printedKey.FindString(s.stdout.String())
	if code, answer := s.post(s.url+"/api/projects/1/feature_flags/", owner, `{"key": "new", "active": true, "filters": {"groups": [{"rollout_percentage": 100}]}}`); code != http.StatusCreated {
		t.Fatal(code, answer)
	}
	_, projects := s.get("/api/projects/", owner)
	token := regexp.MustCompile(`phc_[A-Za-z0-9]+`).FindString(projects)
	s.send(token, "bought", "ana", `{"plan": "pro"}`)
	s.stop()
	s.wait(0)

	// The first backup is due at the start.
	s = serve(t, time.Minute, "--data", data, "--backup", folder, "--backup-interval", "5m", "--backup-key", key)
	s.logged("backup written and checked")
	if code, body := s.get("/api/health/", owner); code != http.StatusOK || !strings.Contains(body, `{"name":"backups","state":"ok"`) {
		t.Errorf("health: %d %s", code, body)
	}
	names := regexp.MustCompile(`bunting-[0-9a-f]{16}-\d{8}T\d{6}Z\.db\.age`)
	list := call(t, "", nil, "restore", folder, "--list")
	list.Want(t, 0, " bytes\n", "")
	name := names.FindString(list.Stdout)
	sealed, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil || name == "" || !strings.HasPrefix(string(sealed), "age-encryption.org/v1\n") { // https://age-encryption.org/v1
		t.Fatalf("%q begins with %.22q, %v", list.Stdout, sealed, err)
	}

	other := filepath.Join(t.TempDir(), "other")
	call(t, "", nil, "restore", folder, "--data", other).Want(t, 1, "", "is encrypted: name the file with its key with --key")
	call(t, "", nil, "restore", folder, "--data", other, "--key", newKey(t)).Want(t, 1, "", "was encrypted with another key: use the key that the server had")
	call(t, "", nil, "restore", folder, "--data", data, "--key", key).Want(t, 1, "", "is in use by another server")
	if left, err := os.ReadDir(other); err != nil || len(left) > 0 {
		t.Errorf("the folder has %v, %v", left, err)
	}
	call(t, "", nil, "restore", folder, "--data", other, "--key", key).Want(t, 0, "1 events, schema ", "restoring "+name)

	twin := serve(t, time.Minute, "--data", other)
	for _, path := range []string{"/api/projects/1/feature_flags/", "/api/projects/1/events/", "/api/projects/1/persons/"} {
		code, want := s.get(path, owner)
		if code != http.StatusOK {
			t.Errorf("%s: %d %s", path, code, want)
		}
		if code, got := twin.get(path, owner); code != http.StatusOK || strings.ReplaceAll(got, twin.url, s.url) != want {
			t.Errorf("%s: %d %s, want %s", path, code, got, want)
		}
	}
	if code, body := twin.post(twin.url+"/flags/?v=2", "", `{"api_key": "`+token+`", "distinct_id": "ana"}`); code != http.StatusOK || !enabled(t, body)["new"] {
		t.Errorf("flags: %d %s", code, body)
	}
	for _, s := range []*instance{s, twin} {
		s.stop()
		s.wait(0)
	}
}

// Settings of backups that cannot work end the start.
func TestServe_BackupRejected(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"in memory":   {[]string{"--database", "sqlite::memory:", "--backup", t.TempDir()}, "nothing is stored"},
		"no key":      {[]string{"--data", t.TempDir(), "--backup", t.TempDir(), "--backup-key", "none.key"}, "none.key: no such file"},
		"an interval": {[]string{"--backup", t.TempDir(), "--backup-interval", "10s"}, "--backup-interval: must be a duration from 1m"},
		"an address":  {[]string{"--backup", "ftp://x/y"}, "--backup: must be a folder or s3://BUCKET/PREFIX"},
	} {
		t.Run(name, func(t *testing.T) {
			r := call(t, "", nil, append([]string{"serve", "--listen", "127.0.0.1:0"}, tt.args...)...)
			if r.Code == 0 || !strings.Contains(r.Stderr, tt.want) {
				t.Errorf("%d %s, want %q", r.Code, r.Stderr, tt.want)
			}
		})
	}
}

// serve --backup is for a data folder: with PostgreSQL the start fails, and the error names the
// programs for its backups.
func TestServe_BackupOfPostgres(t *testing.T) {
	r := call(t, "", nil, "serve", "--listen", "127.0.0.1:0", "--database", pgtest.Postgres(t), "--backup", t.TempDir())
	if r.Code == 0 || !strings.Contains(r.Stderr, "back up PostgreSQL with its own programs, with pg_dump") {
		t.Errorf("%d %s", r.Code, r.Stderr)
	}
}
