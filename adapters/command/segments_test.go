package command

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/adapters/server"
)

// The folder of --segments belongs to one data folder. Backups over HTTP, on the command line and at
// intervals are complete with it, and all commands that read the data accept it, also from the
// environment.
func TestServe_Segments(t *testing.T) {
	data, segments := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "segments")
	s := serve(t, time.Minute, "--data", data, "--segments", segments)
	key := printedKey.FindString(s.stdout.String())
	_, projects := s.get("/api/projects/", key)
	s.send(regexp.MustCompile(`phc_[A-Za-z0-9]+`).FindString(projects), "bought", "ana", `{"plan": "pro"}`)

	r, _ := http.NewRequest(http.MethodPost, s.url+"/api/instance/backup/", nil)
	r.Header.Set("Authorization", "Bearer "+key)
	answer, err := httpClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || answer.ContentLength != int64(len(text)) || !strings.Contains(answer.Header.Get("Content-Disposition"), `.db"`) {
		t.Fatalf("%d, %d of %d bytes, %v", answer.StatusCode, len(text), answer.ContentLength, err)
	}
	downloaded, written := filepath.Join(t.TempDir(), "downloaded.db"), filepath.Join(t.TempDir(), "written.db")
	if err := os.WriteFile(downloaded, text, 0o600); err != nil {
		t.Fatal(err)
	}
	call(t, "", []string{"BUNTING_SEGMENTS=" + segments}, "backup", "--data", data, "--output", written).Want(t, 0, "1 events, schema ", "")
	if got := runDoctor(t, 0, "--data", data, "--segments", segments); got["database ok"] == "" || got["segments fault"] != "" || got["segments note"] != "" {
		t.Error(got)
	}
	s.stop()
	s.wait(0)
	// The copy that was sent is gone.
	if left, err := filepath.Glob(filepath.Join(data, server.DatabaseFile+".download*")); err != nil || len(left) > 0 {
		t.Errorf("%q is left, %v", left, err)
	}
	call(t, "", nil, "serve", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--segments", segments).
		Want(t, 1, "", "the segment files in "+segments+" belong to another database: choose another folder with --segments")
	call(t, "", nil, "keys", "recover", "--data", data, "--segments", segments).Want(t, 0, "phx_", "")

	for _, backup := range []string{downloaded, written} {
		other, folder := filepath.Join(t.TempDir(), "other"), filepath.Join(t.TempDir(), "segments")
		call(t, "", nil, "restore", backup, "--data", other, "--segments", folder).Want(t, 0, "1 events, schema ", "")
		twin := serveWith(t, []string{"BUNTING_SEGMENTS=" + folder}, time.Minute, "--data", other)
		for _, path := range []string{"/api/projects/1/events/", "/api/projects/1/persons/"} {
			if code, body := twin.get(path, key); code != http.StatusOK || !strings.Contains(body, `"ana"`) {
				t.Errorf("%s: %d %s", path, code, body)
			}
		}
		twin.stop()
		twin.wait(0)
	}
}

// Events in segment files are in lists, exports, backups and moves, and doctor checks their files.
func TestServe_SealedEvents(t *testing.T) {
	data, segments := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "segments")
	s := serve(t, time.Minute, "--data", data, "--segments", segments)
	key := printedKey.FindString(s.stdout.String())
	_, projects := s.get("/api/projects/", key)
	token := regexp.MustCompile(`phc_[A-Za-z0-9]+`).FindString(projects)
	s.send(token, "bought", "ana", `{"plan": "pro"}`)
	s.stop()
	s.wait(0)
	store, err := sqlstore.Open(t.Context(), "sqlite:"+filepath.Join(data, server.DatabaseFile), sqlstore.Config{Segments: segments, SealAfter: -time.Hour})
	if err == nil {
		_, err = store.Seal(t.Context())
		err = errors.Join(err, store.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := runDoctor(t, 0, "--data", data, "--segments", segments); !strings.Contains(got["segments ok"], "1 segment files with 0 MiB are intact") {
		t.Error(got)
	}

	hasBoth := func(what, text string) {
		t.Helper()
		for _, event := range []string{`"bought"`, `"seen"`} {
			if !strings.Contains(text, event) {
				t.Errorf("%s: no event %s: %s", what, event, text)
			}
		}
	}
	s = serve(t, time.Minute, "--data", data, "--segments", segments)
	s.send(token, "seen", "bob", `{}`) // is in the database
	hasBoth("export", call(t, "", nil, "export", "--server", s.url, "--key", key, "--what", "events").Stdout)
	backup, moved, restored, folder := filepath.Join(t.TempDir(), "backup.db"), filepath.Join(t.TempDir(), "moved"), filepath.Join(t.TempDir(), "restored"), filepath.Join(t.TempDir(), "segments")
	call(t, "", nil, "backup", "--data", data, "--segments", segments, "--output", backup).Want(t, 0, "2 events, 1 segment files, schema ", "")
	s.stop()
	s.wait(0)
	call(t, "", nil, "move", "--from", data, "--to", moved).Want(t, 0, "1 segment files stay where they are", "")
	call(t, "", nil, "restore", backup, "--data", restored, "--segments", folder).Want(t, 0, "2 events, 1 segment files, schema ", "")
	for name, args := range map[string][]string{"moved": {"--data", moved, "--segments", segments}, "restored": {"--data", restored, "--segments", folder}} {
		s := serve(t, time.Minute, args...)
		code, list := s.get("/api/projects/1/events/", key)
		if hasBoth(name, list); code != http.StatusOK {
			t.Errorf("%s: %d", name, code)
		}
		s.stop()
		s.wait(0)
	}
	call(t, "", nil, "serve", "--listen", "127.0.0.1:0", "--data", moved).Want(t, 1, "", "give their folder with --segments")
}

// Segment files that a restore would replace are only replaced with --replace, and then moved.
func TestRestore_SegmentsOfOthers(t *testing.T) {
	data, segments, backup := filepath.Join(t.TempDir(), "data"), t.TempDir(), filepath.Join(t.TempDir(), "b.db")
	s := serve(t, time.Minute, "--data", data)
	s.stop()
	s.wait(0)
	call(t, "", nil, "backup", "--data", data, "--output", backup).Want(t, 0, "0 events, schema ", "")
	if err := os.MkdirAll(filepath.Join(segments, "project=1"), 0o700); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	call(t, "", nil, "restore", backup, "--data", other, "--segments", segments).Want(t, 1, "", segments+" already has segment files: choose another folder, or use --replace")
	call(t, "", nil, "restore", backup, "--data", other, "--segments", segments, "--replace").Want(t, 0, "0 events, schema ", "the segment files that were there are now in "+segments)
	if left, err := filepath.Glob(filepath.Join(segments, "*")); err != nil || len(left) != 1 || !strings.Contains(left[0], "before-") {
		t.Errorf("%q, %v", left, err)
	}
}

// Segment files are for data that is stored.
func TestServe_SegmentsOfNothing(t *testing.T) {
	call(t, "", nil, "serve", "--listen", "127.0.0.1:0", "--database", "sqlite::memory:", "--segments", t.TempDir()).
		Want(t, 1, "", "--segments is for a database that is stored, and this one is in memory: set --data, or leave out --segments")
}
