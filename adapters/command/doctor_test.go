package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/server"
)

// runDoctor returns the doctor's findings, keyed by check and level.
func runDoctor(t *testing.T, code int, args ...string) map[string]string {
	t.Helper()
	r := call(t, "", nil, append([]string{"doctor", "--json"}, args...)...)
	if r.Code != code {
		t.Errorf("exit code %d, want %d: %s", r.Code, code, r.Stderr)
	}
	return r.Findings(t)
}

// The doctor reports no faults of an intact server, whether it runs or not, and changes no files.
func TestDoctor_Sound(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	if got := runDoctor(t, 0, "--data", folder); !strings.Contains(got["database note"], "no database yet") {
		t.Errorf("before the first start: %v", got)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("the doctor has made the folder")
	}
	s := serve(t, time.Minute, "--data", folder)
	got := runDoctor(t, 0, "--data", folder)
	for check, want := range map[string]string{"database ok": "1 projects, 0 events; a server uses it", "schema ok": "the newest", "settings ok": "no unsafe settings"} {
		if !strings.Contains(got[check], want) {
			t.Errorf("%s: %q, want %q; all: %v", check, got[check], want, got)
		}
	}
	s.stop()
	s.wait(0)
	if got := runDoctor(t, 0, "--quick", "--data", folder); !strings.Contains(got["database ok"], "no server uses it") {
		t.Error(got)
	}
	call(t, "", nil, "doctor", "--data", folder).Want(t, 0, "ok       schema", "")
}

// The doctor reports a damaged file as a fault, and warns about files that other users may read.
func TestDoctor_Damage(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	s := serve(t, time.Minute, "--data", folder)
	s.stop()
	s.wait(0)
	path := filepath.Join(folder, server.DatabaseFile)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := runDoctor(t, 0, "--data", folder); !strings.Contains(got["files warning"], "chmod 600 "+path) {
		t.Error(got)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(text) / 2; i < len(text); i++ {
		text[i] ^= 0x5a
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := runDoctor(t, 1, "--data", folder); got["database fault"] == "" {
		t.Error(got)
	}
}
