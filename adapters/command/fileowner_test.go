package command

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

const ownedFile = `{
  "organization": {"id": "0191f0a2-5b1c-7d3e-8f40-0000000000fe", "name": "Filed"}, KEYS
  "projects": [
    {"id": 7, "name": "one", "api_key": "phc_one", "personal_api_keys": [{"key": "phx_of_project_7", "scopes": ["*"]}], "flags": []},
    {"id": 8, "name": "two", "api_key": "phc_two", "flags": []}]
}`

const keysWithOrganization = `"personal_api_keys": [{"key": "phx_of_everything", "scopes": ["*"]}, {"key": "phx_of_readers", "scopes": ["organization:read"]}],`

// Decision 21: the organization of a definitions file has an owner, who gets a key at the first
// start. Keys in the organization open the organization, and keys in a project open that project.
func TestServe_FileHasAnOwner(t *testing.T) {
	dir, path := t.TempDir(), filepath.Join(t.TempDir(), "flags.json")
	write := func(keys string) {
		if err := os.WriteFile(path, []byte(strings.Replace(ownedFile, "KEYS", keys, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(keysWithOrganization)
	s := serve(t, time.Minute, "--data", dir, "--definitions", path, "--owner-email", "chief@example.com")
	owner := printedKey.FindString(s.stdout.String())
	if owner == "" || strings.Count(s.stdout.String(), owner) != 1 {
		t.Fatalf("the owner's key is to be shown once:\n%s", s.stdout)
	}
	inside := []string{"members/", "invites/", "domains/", "roles/", ""}
	for _, key := range []string{owner, "phx_of_everything"} {
		for _, allowed := range inside {
			if code, body := s.get("/api/organizations/@current/"+allowed, key); code != http.StatusOK {
				t.Errorf("%s with %s: %d %s", allowed, key, code, body)
			}
		}
		if code, body := s.get("/api/projects/", key); code != http.StatusOK || !strings.Contains(body, `"count":2`) {
			t.Errorf("projects with %s: %d %s", key, code, body)
		}
		if code, body := s.get("/flags/definitions?token=phc_two", key); code != http.StatusOK {
			t.Errorf("definitions with %s: %d %s", key, code, body)
		}
		if code, body := s.post(s.url+"/api/organizations/@current/invites/", key, `{"target_email": "new-`+key[len(key)-4:]+`@example.com"}`); code != http.StatusCreated {
			t.Errorf("an invitation with %s: %d %s", key, code, body)
		}
	}
	if _, body := s.get("/api/organizations/@current/members/", owner); !strings.Contains(body, `"email":"chief@example.com"`) || !strings.Contains(body, `"level":15`) {
		t.Errorf("the owner is no member: %s", body)
	}
	for _, tt := range []struct {
		key, path string
		code      int
	}{
		{"phx_of_readers", "/api/organizations/@current/", 200},
		{"phx_of_readers", "/api/projects/7/feature_flags/", 403},
		{"phx_of_project_7", "/api/projects/7/feature_flags/", 200},
		{"phx_of_project_7", "/api/projects/8/feature_flags/", 403},
		{"phx_of_project_7", "/api/organizations/@current/members/", 403},
		{"phx_of_nobody", "/api/organizations/@current/", 401},
	} {
		if code, body := s.get(tt.path, tt.key); code != tt.code {
			t.Errorf("%s with %s: %d %s, want %d", tt.path, tt.key, code, body, tt.code)
		}
	}
	s.stop()
	s.wait(0)

	// The next start prints no key; the first key and the owner remain.
	s = serve(t, time.Minute, "--data", dir, "--definitions", path, "--owner-email", "chief@example.com")
	if again := printedKey.FindString(s.stdout.String()); again != "" || !s.keyOpens(owner) {
		t.Errorf("a second key is shown, %s, or the first does not open any more:\n%s", again, s.stdout)
	}
	// A key that is removed from the file is no longer accepted.
	write("")
	deadline := time.Now().Add(clitest.WaitTimeout)
	for {
		code, body := s.get("/api/organizations/@current/", "phx_of_everything")
		if code == http.StatusUnauthorized {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("a key that has left the file still opens: %d %s", code, body)
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.stop()
	s.wait(0)
}

// With --owner-key-file the owner's key is written to that file. A key that cannot be written is
// not created, and the next start counts as the first.
func TestServe_FileOwnerKeyFile(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "key")
	call(t, "", nil, "serve", "--listen", "127.0.0.1:0", "--data", dir, "--definitions", demo, "--log-level", "error", "--owner-key-file", filepath.Join(dir, "none", "key")).
		Want(t, 1, "", "no key was created")
	s := serve(t, time.Minute, "--data", dir, "--definitions", demo, "--owner-key-file", file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	key := strings.TrimSpace(string(text))
	if !s.keyOpens(key) || strings.Contains(s.stdout.String(), key) || !strings.Contains(s.stdout.String(), "Your personal key is in "+file) {
		t.Errorf("%q; %s", key, s.stdout)
	}
	s.stop()
	s.wait(0)
}

func TestServe_KeysOfTheOrganizationFile(t *testing.T) {
	for name, tt := range map[string]struct{ keys, want string }{
		"in a project too":  {`"personal_api_keys": [{"key": "phx_of_project_7", "scopes": ["*"]}],`, "leave one out"},
		"a project's":       {`"personal_api_keys": [{"key": "phc_one", "scopes": ["*"]}],`, "is also a personal or secret key"},
		"empty":             {`"personal_api_keys": [{"key": "", "scopes": ["*"]}],`, "is empty"},
		"differently twice": {`"personal_api_keys": [{"key": "phx_a", "scopes": ["*"]}, {"key": "phx_a", "scopes": []}],`, "different scopes"},
		"no list":           {`"personal_api_keys": "phx_a",`, "personal_api_keys"},
	} {
		t.Run(name, func(t *testing.T) {
			path := clitest.TempFile(t, "flags.json", strings.Replace(ownedFile, "KEYS", tt.keys, 1))
			call(t, "", nil, "serve", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--log-level", "error", "--definitions", path).Want(t, 1, "", tt.want)
		})
	}
}
