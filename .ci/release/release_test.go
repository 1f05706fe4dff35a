package release

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// released returns the file of a release in the folder TEST_DIST, which .ci/release/twice
// writes, or "" without that folder.
func released(t *testing.T, name string) string {
	t.Helper()
	dist := os.Getenv("TEST_DIST")
	if dist == "" {
		return ""
	}
	path := filepath.Join(dist, name)
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// The program in the archive starts as on the page and decides a flag.
func TestArchive_Decides(t *testing.T) {
	dir, line := scratch(t), command(t, "README.md", "tar xzf")
	archive := strings.Fields(line)[2]
	if path := released(t, archive); path != "" {
		copyFile(t, path, filepath.Join(dir, archive))
	} else {
		archiveProgram(t, program(t), filepath.Join(dir, archive))
	}
	out := isolated(t, []string{"DIR=" + dir, "INSTALL=" + line, "ADDRESS=" + freeAddress(t)}, "decide.sh", "archive.sh")
	if !strings.Contains(out, "new-checkout true\n") {
		t.Error(out)
	}
}

// archiveProgram writes an archive with only the program, to save time.
func archiveProgram(t *testing.T, program, path string) {
	t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := gzip.NewWriterLevel(out, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(packed)
	if err := archive.WriteHeader(&tar.Header{Name: "bunting", Mode: 0o755, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Write(text); err != nil {
		t.Fatal(err)
	}
	for _, c := range []io.Closer{archive, packed, out} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The pages name files that a release has.
func TestRelease_Files(t *testing.T) {
	for _, page := range []string{"README.md", "INSTALL.md", "cmd/bunting/CONTAINERS.md"} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`bunting[-_][\w.-]*\.(?:tar\.gz|tgz|zip|deb|rpm|apk|cdx\.json)\b`).FindAllString(string(text), -1)
		if len(names) == 0 {
			t.Errorf("%s names no file of a release", page)
		}
		for _, name := range names {
			released(t, name)
		}
	}
}
