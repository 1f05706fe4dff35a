package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// examined are the doctor's findings by check and level.
func examined(t *testing.T, code int, env []string, args ...string) map[string]string {
	t.Helper()
	r := call(t, "", env, append([]string{"doctor", "--json"}, args...)...)
	if r.code != code {
		t.Errorf("exit code %d, want %d: %s", r.code, code, r.stderr)
	}
	var list []finding
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil {
		t.Fatalf("%v in %s", err, r.stdout)
	}
	out := map[string]string{}
	for _, f := range list {
		out[f.Check+" "+f.Level] += f.Text + "\n"
	}
	return out
}

// The doctor finds a sound server sound, running or not, and changes nothing.
func TestDoctor_Sound(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	if got := examined(t, 0, nil, "--data", folder); !strings.Contains(got["database note"], "nothing yet") {
		t.Errorf("before the first start: %v", got)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("the doctor has made the folder")
	}
	s := serve(t, time.Minute, "--data", folder)
	got := examined(t, 0, nil, "--data", folder)
	for check, want := range map[string]string{"database ok": "1 projects, 0 events; a server uses it", "schema ok": "the newest", "settings ok": "nothing unsafe"} {
		if !strings.Contains(got[check], want) {
			t.Errorf("%s: %q, want %q; all: %v", check, got[check], want, got)
		}
	}
	s.stop()
	s.wait(0)
	if got := examined(t, 0, nil, "--quick", "--data", folder); !strings.Contains(got["database ok"], "no server uses it") {
		t.Error(got)
	}
	call(t, "", nil, "doctor", "--data", folder).want(t, 0, "ok       schema", "")
}

// A damaged file is a fault, and files that others may read are told of.
func TestDoctor_Damage(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	s := serve(t, time.Minute, "--data", folder)
	s.stop()
	s.wait(0)
	path := filepath.Join(folder, databaseFile)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := examined(t, 0, nil, "--data", folder); !strings.Contains(got["files warning"], "chmod 600 "+path) {
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
	if got := examined(t, 1, nil, "--data", folder); got["database fault"] == "" {
		t.Error(got)
	}
}

func TestDoctor_UnsafeSettings(t *testing.T) {
	open := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(open, []byte("hush"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(config, []byte(`{"smtp_url": "smtps://me:hush@mail.example.com", "mail_from": "a@example.com", "site_url": "https://flags.example.com", "owner_email": "a@example.com"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(config, 0o644); err != nil {
		t.Fatal(err)
	}
	data := []string{"--data", t.TempDir()}
	for name, tt := range map[string]struct {
		args []string
		want string // empty: nothing is unsafe
	}{
		"a private address": {[]string{"--listen", "192.168.1.7:8000"}, ""},
		"loopback":          {[]string{"--listen", "localhost:8000", "--definitions", demo}, ""},
		"every address":     {[]string{"--listen", ":8000"}, "--listen: :8000 is reached from other machines"},
		"no limits":         {[]string{"--listen", "0.0.0.0:8000", "--rate-limit", "off"}, "--rate-limit: nothing is limited"},
		"keys in a file":    {[]string{"--listen", "203.0.113.5:80", "--definitions", demo}, "--definitions: " + demo},
		"everybody trusted": {[]string{"--trusted-proxies", "0.0.0.0/0"}, "--trusted-proxies: 0.0.0.0/0"},
		"exports anywhere":  {[]string{"--export-networks", "::/0"}, "--export-networks: ::/0"},
		"private exports":   {[]string{"--export-networks", "10.0.0.0/8"}, ""},
		"kept nowhere":      {[]string{"--database", "sqlite::memory:"}, "--database: nothing is kept"},
		"mails to nobody":   {[]string{"--smtp-url", "smtps://mail.example.com", "--mail-from", "a@example.com", "--site-url", "https://x.example.com"}, "--owner-email: owner@localhost"},
		"plain mails":       {[]string{"--smtp-url", "smtp+plain://mail.example.com", "--mail-from", "a@example.com", "--site-url", "https://x.example.com"}, "--smtp-url: mails"},
		"an open secret":    {[]string{"--smtp-password-file", open}, "--smtp-password-file: " + open + " has a secret"},
		"an open config":    {[]string{"--config", config}, "--config: " + config + " has a secret"},
	} {
		t.Run(name, func(t *testing.T) {
			got := examined(t, 0, nil, append(data[:2:2], tt.args...)...)
			if tt.want == "" && got["settings warning"] != "" || !strings.Contains(got["settings warning"], tt.want) {
				t.Errorf("%v, want %q", got, tt.want)
			}
		})
	}
	for address, plain := range map[string]bool{
		"postgres://u@db.example.com/x": true, "postgres://u@db.example.com/x?sslmode=verify-full": false, "postgres://u@127.0.0.1/x": false,
		"postgres:///x?host=/run/postgresql": false, "postgres://u@db/x?sslmode=prefer": true, "": false,
	} {
		if got := plainPostgres(address) != ""; got != plain {
			t.Errorf("%s: may be plain %v, want %v", address, got, plain)
		}
	}
	call(t, "", nil, "doctor", "--listn", "x").want(t, 2, "", "see bunting help doctor")
}
