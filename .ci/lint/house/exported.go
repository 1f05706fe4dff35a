package house

import (
	"go/ast"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// mostExported is the maximum number of identifiers that each package may export: functions, types,
// constants and variables, and methods of exported types. A number decreases when identifiers
// become internal; a new package needs a line.
var mostExported = map[string]int{
	"adapters/command":         1,
	"adapters/console":         1,
	"adapters/filesource":      17,
	"adapters/flaglint":        4,
	"adapters/httpapi":         39,
	"adapters/ofprovider":      18,
	"adapters/otelhook":        2,
	"adapters/promhook":        2,
	"adapters/remote":          48,
	"adapters/remote/lastgood": 6,
	"adapters/server":          35,
	"adapters/storetest":       22,
	"capture":                  164,
	"capture/experiments":      26,
	"capture/guarded":          26,
	"capture/ids":              2,
	"capture/jsontext":         28,
	"capture/insights":         5,
	"capture/insights/port":    29,
	"capture/queries":          37,
	"flags":                    255,
	"flags/flagshttp":          3,
	"flags/sdklint":            2,
	"flags/serving":            34,
	"flags/flagstest":          16,
	"flags/wire":               28,
	"geoip":                    17,
	"management":               219,
	"management/batchexports":  55,
	"management/dashboards":    63,
	"management/errortracking": 19,
	"management/changes":       18,
	"management/cohorts":       26,
	"management/earlyaccess":   5,
	"management/experiments":   24,
	"management/featureflags":  83,
	"management/rollouts":      16,
	"management/surveys":       15,
	"management/files":         8,
	"management/organizations": 93,
	"management/rooms":         5,
}

// Exported reports packages that export more than the table allows.
var Exported = &analysis.Analyzer{
	Name: "mostexported",
	Doc:  "reports packages that export more identifiers than their bound",
	Run: func(pass *analysis.Pass) (any, error) {
		s, err := sourcesOf(pass)
		if err != nil || len(s.files) == 0 || slices.Contains(strings.Split(s.dir, "/"), "internal") {
			return nil, err
		}
		n := 0
		for _, file := range s.files {
			if file.syntax.Name.Name != "main" {
				n += exported(file.syntax)
			}
		}
		most, there := mostExported[s.dir]
		switch pos := pass.Files[0].Name.Pos(); {
		case n > most:
			pass.Reportf(pos, "the package exports %d identifiers, want at most %d: make internal what no user needs", n, most)
		case n == 0 && there:
			pass.Reportf(pos, "the package exports nothing: it needs no row in mostExported")
		}
		return nil, nil
	},
}

// exported counts the exported identifiers of a file.
func exported(file *ast.File) (n int) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Name.IsExported() && (decl.Recv == nil || ast.IsExported(receiver(decl.Recv.List[0].Type))) {
				n++
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					n += countExported(spec.Name)
				case *ast.ValueSpec:
					n += countExported(spec.Names...)
				}
			}
		}
	}
	return n
}

func countExported(names ...*ast.Ident) (n int) {
	for _, name := range names {
		if name.IsExported() {
			n++
		}
	}
	return n
}

// receiver returns the name of a receiver's type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}
