package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestFilesAreUpToDate builds every file and compares it, byte for byte, with the checked-in file.
func TestFilesAreUpToDate(t *testing.T) {
	s, err := readSource(filepath.Join("..", "source.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		want, err := build(f, s)
		if err != nil {
			t.Fatalf("%s: %v", f.name, err)
		}
		got, err := os.ReadFile(filepath.Join("..", f.name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is out of date: run go run -C testdata/geoip/generate .", f.name)
		}
	}
}
