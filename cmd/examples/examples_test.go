// The tests check two promises of the programs in this folder: each is short, and only a few of its
// lines are required by Bunting.

package examples_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// maxLines is the maximum length of a program in lines, and maxSetup the maximum number of lines
// that Bunting requires: the lines between "// setup" and "// end of setup", and lines that end
// with "// setup".
const maxLines = 60

var maxSetup = map[string]int{
	"embedded": 10, "geo": 5, "openfeature": 15, "ownsink": 5, "ownstore": 15, "service": 6, "unittest": 3, "worker": 4,
}

func TestPrograms_AreShort(t *testing.T) {
	files, err := filepath.Glob("*/main.go")
	if err != nil || len(files) != len(maxSetup) {
		t.Errorf("%d programs, want %d: %v", len(files), len(maxSetup), err)
	}
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| \[(\w+)\].* \| (\d+) \|$`).FindAllStringSubmatch(string(page), -1) {
		documented[m[1]] = m[2]
	}
	for _, file := range files {
		name := filepath.Dir(file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines, setup := count(string(text))
		if name == "unittest" { // its test is the example
			test, err := os.ReadFile(filepath.Join(name, "main_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			_, setup = count(string(test))
		}
		if lines > maxLines {
			t.Errorf("%s has %d lines, %d are enough", name, lines, maxLines)
		}
		if limit, ok := maxSetup[name]; !ok || setup == 0 || setup > limit {
			t.Errorf("%s has %d lines of setup, at most %d are promised", name, setup, limit)
		}
		if documented[name] != strconv.Itoa(setup) {
			t.Errorf("%s has %d lines of setup, README.md says %q", name, setup, documented[name])
		}
	}
}

// count returns the number of lines of a program, and of its setup without comments and empty
// lines.
func count(text string) (lines, setup int) {
	inside := false
	for line := range strings.Lines(text) {
		lines++
		switch line = strings.TrimSpace(line); {
		case line == "// setup":
			inside = true
		case line == "// end of setup":
			inside = false
		case strings.HasSuffix(line, "// setup"), inside && line != "" && !strings.HasPrefix(line, "//"):
			setup++
		}
	}
	return lines, setup
}

func TestCount(t *testing.T) {
	lines, setup := count("a\n// setup\nb\n\n// why\nc\n// end of setup\nd // setup\n")
	if lines != 8 || setup != 3 {
		t.Error(lines, setup)
	}
}
