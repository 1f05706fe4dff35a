package command

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The owner of everything can download a backup over HTTP. A server that is restored from it
// elsewhere, without further settings, accepts the same keys and returns the same responses.
func TestBackup_OverHTTP(t *testing.T) {
	s := serve(t, time.Minute)
	key := printedKey.FindString(s.stdout.String())
	for path, body := range map[string]string{
		"/api/projects/1/feature_flags/":                   `{"key": "new", "active": true, "filters": {"groups": [{"rollout_percentage": 100}]}}`,
		"/api/organizations/@current/invites/":             `{"target_email": "colleague@example.com"}`,
		"/api/projects/1/dashboards/":                      `{"name": "Numbers"}`,
		"/api/projects/1/early_access_feature/":            `{"name": "Beta", "stage": "beta"}`,
		"/api/organizations/@current/domains/":             `{"domain": "example.com"}`,
		"/api/projects/1/error_tracking/assignment_rules/": `{"assignee": {"type": "user", "id": 1}, "filters": {"type": "AND", "values": []}}`,
	} {
		if code, answer := s.post(s.url+path, key, body); code != http.StatusCreated {
			t.Fatalf("%s: %d %s", path, code, answer)
		}
	}
	_, projects := s.get("/api/projects/", key)
	token := regexp.MustCompile(`phc_[A-Za-z0-9]+`).FindString(projects)
	if code, answer := s.post(s.url+"/capture/", "", `{"api_key": "`+token+`", "event": "bought", "distinct_id": "ana", "properties": {"$set": {"plan": "pro"}}}`); code != http.StatusOK {
		t.Fatal(code, answer)
	}
	r, _ := http.NewRequest(http.MethodPost, s.url+"/api/instance/backup/", nil)
	r.Header.Set("Authorization", "Bearer "+key)
	answer, err := httpClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || answer.ContentLength != int64(len(text)) {
		t.Fatalf("%d, %d of %d bytes, %v", answer.StatusCode, len(text), answer.ContentLength, err)
	}
	file, folder := filepath.Join(t.TempDir(), "b.db"), filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	call(t, "", nil, "restore", "--input", file, "--data", folder).Want(t, 0, "1 events, schema ", "")
	twin := serve(t, time.Minute, "--data", folder)
	if strings.Contains(twin.stdout.String(), "first start") {
		t.Errorf("a first start:\n%s", twin.stdout)
	}
	for _, path := range []string{
		"/api/projects/1/", "/api/projects/1/feature_flags/", "/api/projects/1/events/", "/api/projects/1/persons/", "/api/organizations/@current/",
		"/api/organizations/@current/members/", "/api/organizations/@current/invites/", "/api/organizations/@current/domains/", "/api/projects/1/dashboards/",
		"/api/projects/1/early_access_feature/", "/api/projects/1/error_tracking/assignment_rules/", "/api/personal_api_keys/", "/api/users/@me/", "/api/projects/1/activity_log/",
		"/flags/definitions?token=" + token,
	} {
		code, want := s.get(path, key)
		if code != http.StatusOK {
			t.Errorf("%s: %d %s", path, code, want)
		}
		if code, got := twin.get(path, key); code != http.StatusOK || strings.ReplaceAll(got, twin.url, s.url) != want {
			t.Errorf("%s: %d %s, want %s", path, code, got, want)
		}
	}
	code, body := twin.post(twin.url+"/flags/?v=2", "", `{"api_key": "`+token+`", "distinct_id": "ana"}`)
	if code != http.StatusOK || !enabled(t, body)["new"] {
		t.Errorf("flags: %d %s", code, body)
	}
	for _, s := range []*instance{s, twin} {
		s.stop()
		s.wait(0)
	}
}

func TestBackup_CommandLine(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no output":      {[]string{"backup"}, 2, "--output is missing"},
		"an argument":    {[]string{"backup", "x.db"}, 2, `unexpected argument "x.db"`},
		"no folder":      {[]string{"backup", "--data", filepath.Join(t.TempDir(), "none"), "--output", "x.db"}, 1, "name the server's data folder with --data"},
		"no input":       {[]string{"restore"}, 2, "--input is missing"},
		"no such backup": {[]string{"restore", "--data", t.TempDir(), "--input", "none.db"}, 1, "there is no database"},
	} {
		t.Run(name, func(t *testing.T) { call(t, "", nil, tt.args...).Want(t, tt.code, "", tt.want) })
	}
	help := call(t, "", nil, "help", "backup").Stdout
	for _, want := range []string{"bunting.db-wal", "Do not copy bunting.db by hand"} {
		if !strings.Contains(help, want) {
			t.Errorf("the help does not say %q", want)
		}
	}
}
