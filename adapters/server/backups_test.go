package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/backups"
)

// The states of the check of backups, which are due every hour: a warning after more than two
// hours, after a failure, and if old backups cannot be deleted; bad after more than six hours.
func TestBackupHealth(t *testing.T) {
	broken := errors.New("no space left on device")
	const due, failed = "; one is due every 1h0m0s", "; the last attempt has failed: copying the database: no space left on device"
	for name, tt := range map[string]struct {
		good     bool          // whether there is a backup
		age      time.Duration // of it, or the time since the start
		failure  error         // of a second attempt
		newer    bool          // whether there is a newer backup that this server did not write
		state    string
		contains string
		advice   string
	}{
		"started":                  {age: 0, contains: "no backup since the start"},
		"the first takes long":     {age: 2 * time.Hour, contains: "no backup since the start"},
		"the first takes too long": {age: 2*time.Hour + 1, state: healthWarn, contains: "no backup since the start" + due, advice: "use a longer interval"},
		"the first never ends":     {age: 6*time.Hour + 1, state: healthBad, contains: "no backup since the start" + due, advice: "use a longer interval"},
		"the first fails":          {failure: broken, state: healthWarn, contains: "no backup since the start" + failed, advice: "bunting backup --output FILE"},
		"good":                     {good: true, age: time.Minute, contains: "the last good backup is of 2000-01-01 00:00:00 UTC, 2 KiB"},
		"two hours":                {good: true, age: 2 * time.Hour, contains: "2 KiB"},
		"more than two hours":      {good: true, age: 2*time.Hour + 1, state: healthWarn, contains: "2 KiB" + due, advice: "use a longer interval"},
		"six hours":                {good: true, age: 6 * time.Hour, state: healthWarn, contains: "2 KiB" + due, advice: "use a longer interval"},
		"more than six hours":      {good: true, age: 6*time.Hour + 1, state: healthBad, contains: "2 KiB" + due, advice: "use a longer interval"},
		"failed":                   {good: true, age: time.Hour, failure: broken, state: healthWarn, contains: "2 KiB" + failed, advice: "bunting backup --output FILE"},
		"failed for long":          {good: true, age: 6*time.Hour + 1, failure: broken, state: healthBad, contains: "2 KiB" + failed, advice: "bunting backup --output FILE"},
		"nothing deleted":          {good: true, age: time.Hour, newer: true, state: healthWarn, contains: "; old backups could not be deleted: ", advice: "Let the credentials delete objects"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, data := t.TempDir(), t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				if err := os.WriteFile(filepath.Join(data, "id"), []byte("0123456789abcdef\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				copying := func(_ context.Context, to string) (backups.Copied, error) {
					if tt.newer {
						later := filepath.Join(dir, "bunting-0123456789abcdef-20300101T000000Z.db")
						for _, path := range []string{later, later + ".json"} {
							if err := os.WriteFile(path, nil, 0o600); err != nil {
								return backups.Copied{}, err
							}
						}
					}
					text := make([]byte, 2048)
					sum := sha256.Sum256(text)
					return backups.Copied{At: time.Now(), Size: 2048, SHA256: hex.EncodeToString(sum[:])}, os.WriteFile(to, text, 0o600)
				}
				r, err := backups.New(backups.Config{Address: dir, Interval: time.Hour, Keep: time.Hour, Copy: copying, Temp: filepath.Join(data, "copy"), SourceFile: filepath.Join(data, "id")})
				if err != nil {
					t.Fatal(err)
				}
				if tt.good {
					if _, err := r.Once(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(tt.age)
				if tt.failure != nil {
					r.Copy = func(context.Context, string) (backups.Copied, error) { return backups.Copied{}, tt.failure }
					if _, err := r.Once(t.Context()); !errors.Is(err, tt.failure) {
						t.Errorf("error %v, want %v", err, tt.failure)
					}
				}
				f := backupHealth(t.Context(), &healthView{parts: &parts{backup: r}})
				if f.state != tt.state || !strings.Contains(f.detail(), tt.contains) || !strings.Contains(healthTexts[f.advice], tt.advice) || (f.state == "") != (f.advice == "") {
					t.Errorf("%+v, want %+v", f, tt)
				}
			})
		})
	}
}
