package command

import (
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
)

// After a move of a server to PostgreSQL and back, the project key, the personal key and the
// responses are the same.
func TestMove_ServerKeepsItsKeys(t *testing.T) {
	folder, back, there := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b"), pgtest.Postgres(t)
	s := serve(t, time.Minute, "--data", folder)
	key := printedKey.FindString(s.stdout.String())
	if code, answer := s.post(s.url+"/api/projects/1/feature_flags/", key, `{"key": "new", "active": true, "filters": {"groups": [{"rollout_percentage": 100}]}}`); code != http.StatusCreated {
		t.Fatal(code, answer)
	}
	_, projects := s.get("/api/projects/", key)
	token := regexp.MustCompile(`phc_[A-Za-z0-9]+`).FindString(projects)
	if code, answer := s.post(s.url+"/capture/", "", `{"api_key": "`+token+`", "event": "bought", "distinct_id": "ana", "properties": {"$set": {"plan": "pro"}}}`); code != http.StatusOK {
		t.Fatal(code, answer)
	}
	want := map[string]string{}
	for _, path := range []string{
		"/api/projects/", "/api/projects/1/feature_flags/", "/api/projects/1/events/", "/api/projects/1/persons/", "/api/organizations/@current/members/",
		"/api/personal_api_keys/", "/flags/definitions?token=" + token,
	} {
		code, answer := s.get(path, key)
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, code, answer)
		}
		want[path] = strings.ReplaceAll(answer, s.url, "")
	}
	call(t, "", nil, "move", "--from", folder, "--to", there).Want(t, 1, "", "is in use by another server")
	s.stop()
	s.wait(0)
	for _, step := range []struct {
		from, to string
		serve    []string
	}{{folder, there, []string{"--database", there}}, {there, back, []string{"--data", back}}} {
		call(t, "", nil, "move", "--from", step.from, "--to", step.to).Want(t, 0, "counts and checksums match", "")
		s := serve(t, time.Minute, step.serve...)
		if strings.Contains(s.stdout.String(), "first start") {
			t.Errorf("a first start:\n%s", s.stdout)
		}
		for path, want := range want {
			if code, got := s.get(path, key); code != http.StatusOK || strings.ReplaceAll(got, s.url, "") != want {
				t.Errorf("%v, %s: %d %s, want %s", step.serve, path, code, got, want)
			}
		}
		if code, body := s.post(s.url+"/flags/?v=2", "", `{"api_key": "`+token+`", "distinct_id": "ana"}`); code != http.StatusOK || !enabled(t, body)["new"] {
			t.Errorf("flags: %d %s", code, body)
		}
		s.stop()
		s.wait(0)
	}
}

func TestMove_CommandLine(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		code int
		want string
	}{
		"nothing":       {nil, 2, "--from and --to are needed"},
		"one":           {[]string{"--from", "x"}, 2, "--from and --to are needed"},
		"the same":      {[]string{"--from", "x", "--to", "x"}, 2, "are the same"},
		"memory":        {[]string{"--from", "x", "--to", "sqlite::memory:"}, 2, "in memory"},
		"no source":     {[]string{"--from", filepath.Join(t.TempDir(), "none"), "--to", t.TempDir()}, 1, "there is no database"},
		"another thing": {[]string{"--from", "mysql://x/y", "--to", t.TempDir()}, 1, "mysql is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			call(t, "", nil, append([]string{"move"}, tt.args...)...).Want(t, tt.code, "", tt.want)
		})
	}
}
