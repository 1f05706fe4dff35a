package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// T30 (console.md §7): the committed folder is byte for byte the build of the sources, and the
// budgets of §6.6 are met.
func TestDist_IsABuildOfTheSources(t *testing.T) {
	files, err := bundle("../src")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := os.ReadDir("../dist")
	if err != nil {
		t.Fatal(err)
	}
	if len(stored) != len(files) {
		t.Errorf("dist has %d files, a build has %d: go generate ./adapters/console", len(stored), len(files))
	}
	all, first := 0, 0
	for name, want := range files {
		original := name
		if name != "shell.html" {
			original += ".gz"
		}
		got, err := os.ReadFile(filepath.Join("../dist", original))
		if err != nil {
			t.Errorf("%v: go generate ./adapters/console", err)
			continue
		}
		all += len(got)
		if name == "shell.html" || bytes.Contains(files["shell.html"], []byte(`"`+name+`"`)) {
			first += len(got)
		}
		if name != "shell.html" {
			got = unpack(t, got)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the sources make: go generate ./adapters/console", name)
		}
	}
	if all > 1<<20 || first > 90<<10 {
		t.Errorf("dist has %d bytes, want at most 1 MB; a first load has %d, want at most 90 KB", all, first)
	}
	t.Logf("dist %d bytes, first load %d", all, first)
}

// §2.6, §6.2: the renderer has at most 350 lines, other files at most 500.
func TestSources_AreShort(t *testing.T) {
	err := filepath.WalkDir("../src", func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(file)
		maxLines := 500
		if strings.HasSuffix(file, "ui/dom.ts") {
			maxLines = 350
		}
		if lines := bytes.Count(text, []byte("\n")); lines > maxLines {
			t.Errorf("%s has %d lines, at most %d", file, lines, maxLines)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func unpack(t *testing.T, packed []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
