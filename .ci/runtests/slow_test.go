package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Go ignores the tests that are not listed, and a listed file that does not exist is an error.
func TestWithoutOtherFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.go", "a_test.go", "b_test.go"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("package a\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{cache: filepath.Join(t.TempDir(), "new")}
	path, err := w.withoutOtherFiles(dir, []string{"a_test.go"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Replace map[string]string }
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if to, ok := got.Replace[filepath.Join(dir, "b_test.go")]; !ok || to != "" || len(got.Replace) != 1 {
		t.Errorf("%s", text)
	}
	if _, err := w.withoutOtherFiles(dir, []string{"a_test.go", "gone_test.go"}); err == nil {
		t.Error("a file that does not exist")
	}
}
