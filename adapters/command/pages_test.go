package command

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every link of a page to another page of the repository, or to one of its headings, has a target.
func TestPages_LinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	links := 0
	for page, data := range docPages(t) {
		for _, m := range link.FindAllStringSubmatch(data, -1) {
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

// Files that a page names exist, relative to the root or to the page.
func TestPages_FilesAreThere(t *testing.T) {
	named := regexp.MustCompile("`([\\w.-]+(?:/[\\w.-]+)*/[\\w-]+\\.(?:go|json|md|yml|txt|js))`")
	files := 0
	for page, text := range docPages(t) {
		if page == "testdata/README.md" {
			continue // its tables state where their names are
		}
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			files++
			if !slices.ContainsFunc([]string{".", filepath.Dir(page)}, func(base string) bool {
				_, err := os.Stat(filepath.Join("../..", base, m[1]))
				return err == nil
			}) {
				t.Errorf("%s names %s, which is not there", page, m[1])
			}
		}
	}
	if files < 20 {
		t.Errorf("only %d names were looked at", files)
	}
}

// The README can be read in a minute.
func TestPages_ReadmeIsShort(t *testing.T) {
	if words := len(strings.Fields(docPages(t)["README.md"])); words > 900 {
		t.Errorf("the README has %d words, 900 are enough", words)
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
