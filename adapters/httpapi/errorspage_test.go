package httpapi_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ERRORS.md documents the errors: it lists every code that the packages return, and no other.
func TestErrors_PageHasEveryCode(t *testing.T) {
	page, err := os.ReadFile("ERRORS.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| ((?:`[A-Za-z_]+`(?:, )?)+) \\| [0-9]").FindAllStringSubmatch(string(page), -1) {
		for _, code := range strings.Split(row[1], ", ") {
			listed[strings.Trim(code, "`")] = true
		}
	}
	examples := map[string]string{}
	code := regexp.MustCompile(`(?:\bCode: +|\bCodedFault\(|\bnewV1Error\(|\b[Cc]ode[A-Z]\w* += |\bofrep[A-Z]\w+ += |\b(?:notSupported|tooLarge) += )"([A-Za-z_]+)"`)
	for _, room := range []string{".", "internal/*", "../../management", "../../management/*", "../../management/internal/*", "../../capture", "../../capture/queries", "../../capture/insights"} {
		files, err := filepath.Glob(filepath.Join(room, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range code.FindAllStringSubmatch(string(text), -1) {
				examples[m[1]] = file
			}
		}
	}
	if len(examples) < 50 {
		t.Errorf("only %d codes were found in the rooms", len(examples))
	}
	for code, file := range examples {
		if !listed[code] {
			t.Errorf("%s gives %q, which ERRORS.md does not have", file, code)
		}
	}
	for code := range listed {
		if examples[code] == "" {
			t.Errorf("ERRORS.md has %q, which nobody gives", code)
		}
	}
}
