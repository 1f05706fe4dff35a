package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture"
)

// Every eighth batch belongs to the second project.
func TestBatches_SecondProject(t *testing.T) {
	requests, err := batches(40, func(g *generator) { g.second = secondProject })
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, r := range requests {
		s, err := capture.Decode(unpacked(t, r), capture.DecodeOptions{})
		if err != nil || len(s.Tokens) != 1 {
			t.Fatalf("%v, %v", s, err)
		}
		counts[s.Tokens[0]]++
	}
	if counts[plainKey] == 0 || counts[plainKey] > 5 || counts[plainKey]+counts[projectKey] != 40 {
		t.Errorf("batches by key: %v", counts)
	}
}

// DuckDB leaves out days without events; other differences are errors.
func TestSameCounts(t *testing.T) {
	const answer = `{"results":[{"data":[3,0,12]}]}`
	for _, c := range []struct {
		rows [][]string
		want string
	}{
		{[][]string{{"20454", "3"}, {"20456", "12"}}, ""},
		{[][]string{{"20454", "3"}, {"20456", "11"}}, "[3 12] by day, with DuckDB [3 11]"},
		{nil, "with DuckDB []"},
	} {
		if err := sameCounts([]byte(answer), c.rows); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q", c.rows, err, c.want)
		}
	}
	if err := sameCounts([]byte(`{"results":[{"data":[0]}]}`), nil); err == nil {
		t.Error("no events, and no error")
	}
}

// A copy of a folder shares the segments, and has an owner and a lock of its own.
func TestCopyStore(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from.db"), filepath.Join(dir, "to.db")
	for name, text := range map[string]string{from: "database", from + sealedFolder + "/database": "7", from + sealedFolder + "/project=1/a.parquet": "events"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	remove, err := copyStore(to, from, true)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		text   string
		isSame bool
	}{"": {"database", false}, sealedFolder + "/database": {"7", false}, sealedFolder + "/project=1/a.parquet": {"events", true}} {
		text, err := os.ReadFile(to + name)
		copied, err1 := os.Stat(to + name)
		original, err2 := os.Stat(from + name)
		if err != nil || err1 != nil || err2 != nil || string(text) != want.text || os.SameFile(copied, original) != want.isSame {
			t.Errorf("%s: %q, %v, %v, %v", name, text, err, err1, err2)
		}
	}
	if n, err := folderSize(dir); n != 2*(8+1+6) || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	if n, err := folderSize(dir); n != 8+1+6 || err != nil {
		t.Errorf("%d bytes after the copy was removed, %v", n, err)
	}
}
