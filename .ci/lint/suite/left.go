package suite

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/ci/lint/unit"
)

// exception excludes findings of a rule in a package, in a file, with messages that contain
// text. The package of external tests of a package p is p_test.
type exception struct {
	pkg, rule, file, text string
}

// exceptions must not get new entries.
var exceptions = []exception{}

// Exceptions returns the number of exceptions.
func Exceptions() int { return len(exceptions) }

// applyExceptions removes the findings about a package that an exception matches. If all analyzers
// have run, an exception of the package that matches no finding becomes a finding itself.
func applyExceptions(list []exception, path string, found []unit.Finding, complete bool) []unit.Finding {
	pkg, _, _ := strings.Cut(path, " ")
	for _, l := range list {
		if module+l.pkg != pkg {
			continue
		}
		remaining := slices.DeleteFunc(slices.Clone(found), l.matches)
		if complete && len(remaining) == len(found) {
			text := fmt.Sprintf("mended, take it out of .ci/lint/suite/left.go: %q of %s/%s", l.text, l.pkg, l.file)
			remaining = append(remaining, unit.Finding{Rule: l.rule, Message: text})
		}
		found = remaining
	}
	return found
}

func (l exception) matches(f unit.Finding) bool {
	return f.Rule == l.rule && filepath.Base(f.Position.Filename) == l.file && strings.Contains(f.Message, l.text)
}

const module = "github.com/bunting-flags/bunting/"
