//go:build linux

package faulttest

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tool runs the binary to its end and returns its output.
func tool(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.Command(bunting(t), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("bunting %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// A backup that is written under full load and restored elsewhere contains every event that was
// accepted before it began, complete requests, and persons and groups as a replay of its events
// computes them (decision 13).
func TestBackup_UnderLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, onSQLite(dir)...)
	l := newLoad(8)
	stop := l.run(s.url)
	for n := range 3 {
		eventually(t, "more is answered", func() bool { return l.ok.Load() > int64(100*(n+1)) })
		before := &book{}
		for _, b := range l.book.all() {
			before.add(&batch{events: b.events, answered: b.isAnswered()})
		}
		file, copyFolder := filepath.Join(t.TempDir(), "backup.db"), filepath.Join(t.TempDir(), "elsewhere")
		busy := l.ok.Load()
		tool(t, "backup", "--data", dir, "--output", file)
		if l.ok.Load() == busy {
			t.Error("nothing was answered meanwhile: that is no load")
		}
		tool(t, "restore", "--input", file, "--data", copyFolder)
		// Events that arrived during the backup may be in it.
		for _, b := range l.book.all()[len(before.batches):] {
			before.add(&batch{events: b.events})
		}
		books := newAudit(before)
		books.check(t, openFolder(t, copyFolder), people)
		books.checkNoExtraEvents(t)
		isIntact(t, copyFolder)
	}
	stop()
	l.settle(t, s.url)

	// Without writes, the restored server returns the same responses as this one. It gets only its
	// folder.
	file, copyFolder := filepath.Join(t.TempDir(), "backup.db"), filepath.Join(t.TempDir(), "elsewhere")
	tool(t, "backup", "--data", dir, "--output", file)
	tool(t, "restore", "--input", file, "--data", copyFolder)
	twin, address := launchBare(t, nil, onSQLite(copyFolder)...)
	twin.await(t, address)
	compareAnswers(t, s, twin)
	s.stop(t)
	l.check(t)
}

// compareAnswers sends the same requests to two servers, for everything that is stored.
func compareAnswers(t *testing.T, one, second *server) {
	t.Helper()
	compared := 0
	var same func(path string)
	same = func(path string) {
		t.Helper()
		compared++
		a, next := answerOf(t, one, path)
		b, _ := answerOf(t, second, path)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("%s differs:\n%s", path, diff)
		}
		if next != "" && compared < 200 {
			same(next)
		}
	}
	for _, path := range []string{
		"projects/1/", "projects/1/events/?limit=500", "projects/1/persons/?limit=500", "projects/1/groups_types/", "projects/1/groups/?group_type_index=0",
		"projects/1/event_definitions/", "projects/1/property_definitions/", "projects/1/ingestion_warnings/", "projects/1/feature_flags/",
		"projects/1/cohorts/", "projects/1/activity_log/", "projects/1/dashboards/", "projects/1/batch_exports/",
	} {
		same("/api/" + path)
	}
	same("/flags/definitions?token=" + apiKey)
	var people struct {
		Results []struct {
			IDs []string `json:"distinct_ids"`
		}
	}
	one.must(t, "GET", "/api/projects/1/persons/?limit=200", "phx_demo", nil, &people)
	if len(people.Results) == 0 {
		t.Fatal("there is nobody to ask flags for")
	}
	for _, p := range people.Results {
		var got [2]map[string]any
		for i, s := range []*server{one, second} {
			status, body := s.flags(t, p.IDs[0])
			if status != http.StatusOK || json.Unmarshal([]byte(body), &got[i]) != nil {
				t.Fatalf("flags of %s: %d %s", p.IDs[0], status, body)
			}
			delete(got[i], "requestId")
			delete(got[i], "evaluatedAt")
		}
		if diff := cmp.Diff(got[0], got[1]); diff != "" {
			t.Fatalf("flags of %s differ:\n%s", p.IDs[0], diff)
		}
	}
}

// answerOf returns a server's response, without the server's address, and the path of the next
// page.
func answerOf(t *testing.T, s *server, path string) (answer, next string) {
	t.Helper()
	var raw json.RawMessage
	s.must(t, "GET", path, "phx_demo", nil, &raw)
	var page struct{ Next *string }
	_ = json.Unmarshal(raw, &page) // lists without pages have no next page
	if page.Next != nil {
		next = strings.TrimPrefix(*page.Next, s.url)
	}
	return strings.ReplaceAll(string(raw), s.url, ""), next
}

// The backup of a folder whose server was killed includes its write-ahead log, and a restore
// overwrites no files.
func TestBackup_AfterAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, onSQLite(dir)...)
	l := newLoad(2)
	stop := l.run(s.url)
	eventually(t, "something is stored", func() bool { return l.ok.Load() > 20 })
	stop()
	s.kill() // the write-ahead log remains
	out := tool(t, "backup", "--data", dir, "--output", filepath.Join(dir, "copy.db"))
	if !strings.Contains(out, "checked") {
		t.Error(out)
	}
	info, err := os.Stat(filepath.Join(dir, "copy.db"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup is %v %v; it holds personal data", info.Mode(), err)
	}
	restoredFolder := t.TempDir()
	tool(t, "restore", "--input", filepath.Join(dir, "copy.db"), "--data", restoredFolder)
	newAudit(l.book).check(t, openFolder(t, restoredFolder), people)
	if out, err := exec.Command(bunting(t), "restore", "--input", filepath.Join(dir, "copy.db"), "--data", restoredFolder).CombinedOutput(); err == nil || !strings.Contains(string(out), "--replace") {
		t.Errorf("a database is overwritten: %v %s", err, out)
	}
	l.check(t)
}
