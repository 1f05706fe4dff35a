package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
		want string // empty if no setting is unsafe
	}{
		"a private address": {[]string{"--listen", "192.168.1.7:8000"}, ""},
		"loopback":          {[]string{"--listen", "localhost:8000", "--definitions", demo}, ""},
		"every address":     {[]string{"--listen", ":8000"}, "--listen: :8000 can be reached from other machines"},
		"no limits":         {[]string{"--listen", "0.0.0.0:8000", "--rate-limit", "off"}, "--rate-limit: there are no rate limits"},
		"keys in a file":    {[]string{"--listen", "203.0.113.5:80", "--definitions", demo}, "--definitions: " + demo},
		"everybody trusted": {[]string{"--trusted-proxies", "0.0.0.0/0"}, "--trusted-proxies: 0.0.0.0/0"},
		"exports anywhere":  {[]string{"--export-networks", "::/0"}, "--export-networks: ::/0"},
		"private exports":   {[]string{"--export-networks", "10.0.0.0/8"}, ""},
		"kept nowhere":      {[]string{"--database", "sqlite::memory:"}, "--database: nothing is stored"},
		"mails to nobody":   {[]string{"--smtp-url", "smtps://mail.example.com", "--mail-from", "a@example.com", "--site-url", "https://x.example.com"}, "--owner-email: owner@localhost"},
		"plain mails":       {[]string{"--smtp-url", "smtp+plain://mail.example.com", "--mail-from", "a@example.com", "--site-url", "https://x.example.com"}, "--smtp-url: mails"},
		"an open secret":    {[]string{"--smtp-password-file", open}, "--smtp-password-file: " + open + " contains a secret"},
		"an open config":    {[]string{"--config", config}, "--config: " + config + " contains a secret"},
	} {
		t.Run(name, func(t *testing.T) {
			r := call(t, "", nil, append([]string{"doctor", "--json", data[0], data[1]}, tt.args...)...)
			got := r.Findings(t)
			if r.Code != 0 {
				t.Errorf("exit code %d: %s", r.Code, r.Stderr)
			}
			if tt.want == "" && got["settings warning"] != "" || !strings.Contains(got["settings warning"], tt.want) {
				t.Errorf("%v, want %q", got, tt.want)
			}
		})
	}
	for address, plain := range map[string]bool{
		"postgres://u@db.example.com/x": true, "postgres://u@db.example.com/x?sslmode=verify-full": false, "postgres://u@127.0.0.1/x": false,
		"postgres:///x?host=/run/postgresql": false, "postgres://u@db/x?sslmode=prefer": true, "": false,
	} {
		if got := insecurePostgres(address) != ""; got != plain {
			t.Errorf("%s: may be plain %v, want %v", address, got, plain)
		}
	}
	call(t, "", nil, "doctor", "--listn", "x").Want(t, 2, "", "see bunting help doctor")
}
