package house

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Imports reports imports that the table does not allow, and packages without a row in the table.
var Imports = &analysis.Analyzer{
	Name: "imports",
	Doc:  "reports imports that the table of rooms does not allow",
	Run: func(pass *analysis.Pass) (any, error) {
		s, err := sourcesOf(pass)
		for _, file := range s.files {
			for _, p := range judgeFile(path.Join(s.dir, file.name), file.syntax) {
				pass.Reportf(p.pos, "%s", p.text)
			}
		}
		return nil, err
	},
}

// problem describes a fault of an import or of a file.
type problem struct {
	pos  token.Pos
	text string
}

// judgeFile checks a file against the table. file is its path relative to the root of the
// repository.
func judgeFile(file string, syntax *ast.File) (problems []problem) {
	name := roomOf(path.Dir(file))
	if name == "" {
		return []problem{{syntax.Name.Pos(), "the table names no such room"}}
	}
	row := table[name]
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		if text := row.judge(name, imported); text != "" && (file != openFile || imported != "os") {
			problems = append(problems, problem{spec.Pos(), "import of " + spec.Path.Value + ": " + text})
		}
		if imported == "context" && isUnder(file, []string{"flags"}) && name != "flags/serving" && !slices.Contains(contextFiles, file) {
			problems = append(problems, problem{spec.Pos(), `import of "context": only ` + strings.Join(contextFiles, ", ") + " may"})
		}
	}
	return problems
}

// roomOf returns the room of a folder: the folder itself or the nearest folder above it that has a
// row in the table; otherwise it is "".
func roomOf(dir string) string {
	for ; dir != "." && dir != "/"; dir = path.Dir(dir) {
		if _, ok := table[dir]; ok {
			return dir
		}
	}
	return ""
}

// judge returns the fault of an import by the named room, or "" if it is allowed.
func (r room) judge(name, imported string) string {
	if ours, is := strings.CutPrefix(imported, module); is && (ours == "" || ours[0] == '/') {
		if to := roomOf(strings.TrimPrefix(ours, "/")); to != "" && (to == name || to == leaf || slices.Contains(r.ours, to)) {
			return ""
		}
		return "the table does not name this arrow"
	}
	if first, _, _ := strings.Cut(imported, "/"); strings.Contains(first, ".") {
		if isUnder(imported, r.others) {
			return ""
		}
		return "the table does not name this module"
	}
	if imported == "C" {
		return "not here"
	}
	if r.pure && isUnder(imported, impure) && !slices.Contains(harmless, imported) {
		return "this room does no I/O"
	}
	return ""
}
