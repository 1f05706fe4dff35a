package unit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// findings collects the reports of analyzers about a program.
type findings struct {
	program *program
	groups  map[*analysis.Analyzer]string
	found   []Finding
}

func newFindings(p *program, analyzers []Analyzer) *findings {
	f := &findings{program: p, groups: map[*analysis.Analyzer]string{}}
	for _, a := range analyzers {
		f.groups[a.Analyzer] = a.Group
	}
	return f
}

func (f *findings) add(a *analysis.Analyzer, d analysis.Diagnostic) {
	rule := a.Name
	if group := f.groups[a]; group == Categories {
		rule = d.Category
	}
	f.found = append(f.found, Finding{f.program.fset.Position(d.Pos), rule, f.groups[a], d.Message})
}

// Categories is the group of analyzers that implement several rules: the category of a report is
// its rule.
const Categories = "revive"

// nolint matches a comment that excludes findings of its line: //nolint:name,name // why.
var nolint = regexp.MustCompile(`^//nolint:([a-zA-Z0-9_,-]+)`)

// filter returns the findings sorted and without duplicates, except those that comments exclude.
func (f *findings) filter() []Finding {
	passing := map[string][]string{} // names of rules and groups by file:line
	for _, file := range f.program.files {
		for _, group := range file.Comments {
			for _, comment := range group.List {
				if m := nolint.FindStringSubmatch(comment.Text); m != nil {
					line := lineOf(f.program.fset.Position(comment.Pos()))
					passing[line] = append(passing[line], strings.Split(m[1], ",")...)
				}
			}
		}
	}
	remaining := slices.DeleteFunc(f.found, func(found Finding) bool {
		names := passing[lineOf(found.Position)]
		return slices.Contains(names, found.Rule) || slices.Contains(names, found.Group)
	})
	slices.SortFunc(remaining, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Position.Filename, b.Position.Filename),
			cmp.Compare(a.Position.Offset, b.Position.Offset),
			cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(remaining)
}

func lineOf(p token.Position) string { return fmt.Sprint(p.Filename, ":", p.Line) }

// writeFindings writes findings in the format of the go command, which caches and prints them: by
// package, and by analyzer. All findings are written under one analyzer, in order. Paths are
// relative to the root of the repository.
func writeFindings(c *Config, found []Finding) error {
	type diagnostic struct {
		Position string `json:"posn"`
		Message  string `json:"message"`
	}
	var diagnostics []diagnostic
	top := topOf(c.Dir)
	for _, f := range found {
		if path, err := filepath.Rel(top, f.Position.Filename); err == nil && filepath.IsLocal(path) {
			f.Position.Filename = path
		}
		position := fmt.Sprintf("%s:%d:%d", f.Position.Filename, f.Position.Line, f.Position.Column)
		diagnostics = append(diagnostics, diagnostic{position, fmt.Sprintf("%s (%s)", strings.TrimSpace(f.Message), f.Rule)})
	}
	data, err := json.Marshal(map[string]map[string][]diagnostic{c.ImportPath: {"vettool": diagnostics}})
	if err != nil || c.Stdout == "" {
		fmt.Printf("%s\n", data)
		return err
	}
	return os.WriteFile(c.Stdout, data, 0o666)
}

// topOf returns the root of the repository that contains dir, or dir if it is in none.
func topOf(dir string) string {
	for top := dir; top != filepath.Dir(top); top = filepath.Dir(top) {
		if _, err := os.Stat(filepath.Join(top, ".git")); err == nil {
			return top
		}
	}
	return dir
}
