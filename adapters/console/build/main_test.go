package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
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
	all := 0
	for name, want := range files {
		original := name
		if path.Ext(name) != ".html" {
			original += ".gz"
		}
		got, err := os.ReadFile(filepath.Join("../dist", original))
		if err != nil {
			t.Errorf("%v: go generate ./adapters/console", err)
			continue
		}
		all += len(got)
		if path.Ext(name) != ".html" {
			got = unpack(t, got)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the sources make: go generate ./adapters/console", name)
		}
	}
	if all > 1<<20 {
		t.Errorf("dist has %d bytes, want at most 1 MB", all)
	}
}

// The first load of a page (§6.5, §6.6) in each language is the document, the files that it names, the
// session, and for most pages the script of their group, which needs no other file than the main script:
// at most six requests, and at most 90 KB.
func TestDist_FirstLoad(t *testing.T) {
	for _, l := range languages {
		t.Run(l.code, func(t *testing.T) {
			files, err := bundleLanguage("../src", l)
			if err != nil {
				t.Fatal(err)
			}
			checkFirstLoad(t, files[l.shell], files)
		})
	}
}

func checkFirstLoad(t *testing.T, shell []byte, files map[string][]byte) {
	t.Helper()
	first, size := 0, func(name string) int {
		packed, err := pack(files[name])
		if err != nil {
			t.Fatal(err)
		}
		return len(packed)
	}
	named := regexp.MustCompile(`(?:src|href)="([\w-]+\.(?:js|css|svg))"`).FindAllSubmatch(shell, -1)
	for _, m := range named {
		first += size(string(m[1]))
	}
	main := string(named[len(named)-1][1])
	const session = 1
	if requests := 1 + len(named) + session + 1; requests > 6 {
		t.Errorf("the first load has %d requests, want at most 6", requests)
	}
	imports := regexp.MustCompile(`(?:from|import)"\./([\w-]+\.js)"`)
	for name, text := range files {
		if path.Ext(name) != ".js" || name == main {
			continue
		}
		for _, m := range imports.FindAllSubmatch(text, -1) {
			if string(m[1]) != main {
				t.Errorf("%s needs %s besides the main script", name, m[1])
			}
		}
		if all := len(shell) + first + size(name); all > 90<<10 {
			t.Errorf("the first load of a page in %s has %d bytes, want at most 90 KB", name, all)
		} else {
			t.Logf("the first load of a page in %s has %d bytes", name, all)
		}
	}
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
