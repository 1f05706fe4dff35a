package command

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A release tags every module of go.work except the examples, each after the modules that it
// requires and with the version that they require of it.
func TestRelease_Tags(t *testing.T) {
	page, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	version := map[string]string{} // by module path
	for _, row := range regexp.MustCompile("(?m)^\\| (\\d+) \\| `(\\S+)` \\|").FindAllStringSubmatch(string(page), -1) {
		dir := path.Dir(row[2])
		dirs = append(dirs, dir)
		version[path.Join(module, dir)] = path.Base(row[2])
		if row[1] != strconv.Itoa(len(dirs)) {
			t.Errorf("%s is number %s of the table, want %d", row[2], row[1], len(dirs))
		}
	}
	want := difference(workspace(t, os.DirFS("../..")), []string{"cmd/examples"})
	if !slices.Equal(sorted(dirs), sorted(want)) {
		t.Errorf("tags of %v, want those of %v", dirs, want)
	}
	for i, dir := range dirs {
		text, err := os.ReadFile(path.Join("../..", dir, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		for _, required := range regexp.MustCompile(`(?m)^\s+(`+module+`\S*) (\S+)`).FindAllStringSubmatch(string(text), -1) {
			before := slices.Index(dirs[:i], strings.TrimPrefix(strings.TrimPrefix(required[1], module), "/"))
			if before < 0 {
				t.Errorf("the tag of %s does not come after that of %s, which it requires", dir, required[1])
			}
			if required[2] != version[required[1]] {
				t.Errorf("%s requires %s %s, and the table tags %s", dir, required[1], required[2], version[required[1]])
			}
		}
	}
}
