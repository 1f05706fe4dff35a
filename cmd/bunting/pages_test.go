package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every link of a page to another page of the repository, or to a heading of it,
// leads somewhere.
func TestPages_LinksLeadSomewhere(t *testing.T) {
	out, err := exec.Command("git", "-C", "../..", "ls-files", "*.md").Output()
	if err != nil {
		t.Fatalf("this test wants a clone: %v", err)
	}
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	links := 0
	for page := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(page, "testdata/spec/") && !strings.HasSuffix(page, "README.md") {
			continue // they quote paths of the API in the form of links
		}
		data, err := os.ReadFile(filepath.Join("../..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(data), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			links++
			file := filepath.Join("../..", filepath.Dir(page), target)
			if target == "" {
				file = filepath.Join("../..", page)
			}
			text, err := os.ReadFile(file)
			if info, statErr := os.Stat(file); statErr == nil && info.IsDir() {
				err = nil
			}
			if err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
				continue
			}
			if anchor != "" && !hasAnchor(string(text), anchor) {
				t.Errorf("%s links to %s, which has no such heading", page, m[1])
			}
		}
	}
	if links < 20 {
		t.Errorf("only %d links were looked at", links)
	}
}

// hasAnchor reports whether a page has a heading, or an anchor, of that name.
func hasAnchor(page, name string) bool {
	if strings.Contains(page, `<a id="`+name+`">`) {
		return true
	}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		heading := regexp.MustCompile("[^a-z0-9 -]").ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(heading, " ", "-") == name {
			return true
		}
	}
	return false
}
