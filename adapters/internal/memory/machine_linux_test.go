package memory

import (
	"os"
	"path/filepath"
	"testing"
)

// The limit of a process is the least of its control group and of the groups around it.
func TestGroupLimit(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, limit := range map[string]string{"memory.max": "700\n", "a/memory.max": "max\n", "a/b/memory.max": "500\n", "a/b/c/memory.max": "900\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(limit), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for groups, want := range map[string]int64{
		"0::/a/b/c\n": 500, "0::/a\n": 700, "0::/\n": 700, "0::/../../x\n": 700, "1:name=systemd:/a/b\n0::/a/b\n": 500, "4:memory:/a/b\n": 800, "": 800,
	} {
		if got := groupLimit(root, groups, 800); got != want {
			t.Errorf("%q: %d, want %d", groups, got, want)
		}
	}
}
