package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestFigure(t *testing.T) {
	for want, f := range map[string]figure{
		"n                                                    3  at most 4":                          {name: "n", value: 3, bound: 4, goal: 4},
		"n                                                    5  at most 4, goal 2  (x)  MISSED":     {name: "n", value: 5, bound: 4, goal: 2, where: "x"},
		"n                                                0.500  at least 0.750, goal 0.800  MISSED": {name: "n", value: 0.5, bound: 0.75, goal: 0.8, least: true},
		"n                                                    1  at least 1":                         {name: "n", value: 1, bound: 1, goal: 1, least: true},
	} {
		if got := f.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Files that git does not know yet are listed, ignored and deleted files are not.
func TestList(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.go": "package a\n", "b_test.go": "package a\n\n", "c.go": "", "d.go": "x\n", ".gitignore": "c.go\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{"init -q", "add d.go"} {
		cmd := exec.Command("git", strings.Fields(args)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
	}
	if err := os.Remove(filepath.Join(dir, "d.go")); err != nil {
		t.Fatal(err)
	}
	files, err := list(dir)
	if err != nil || len(files) != 2 || files[0] != (goFile{"a.go", 1, false}) || files[1] != (goFile{"b_test.go", 2, true}) {
		t.Errorf("%+v, %v", files, err)
	}
}
