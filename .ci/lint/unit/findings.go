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

// findings collects what analyzers report about a program.
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

// Categories is the group of analyzers that stand for many rules: the category of what
// they report is the rule.
const Categories = "revive"

// nolint is a comment that lets findings of its line pass: //nolint:name,name // why.
var nolint = regexp.MustCompile(`^//nolint:([a-zA-Z0-9_,-]+)`)

// filter are the findings, each once and in order, without those that comments let pass.
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

// writeFindings writes findings as the go command wants them, which keeps them and prints
// them: by package, by analyzer. All are under one analyzer, in their order. Paths are from
// the top of the repository.
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

// topOf is the folder of the repository that dir is in; dir if it is in none.
func topOf(dir string) string {
	for top := dir; top != filepath.Dir(top); top = filepath.Dir(top) {
		if _, err := os.Stat(filepath.Join(top, ".git")); err == nil {
			return top
		}
	}
	return dir
}
