package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// mostExported bounds what users of each room can see: the functions, types,
// constants and variables that are exported, and the methods of such types. A
// number falls with what becomes internal; a new room gets a line.
var mostExported = map[string]int{
	"adapters/console":         1,
	"adapters/convert":         10,
	"adapters/filesource":      17,
	"adapters/flaglint":        4,
	"adapters/httpapi":         41,
	"adapters/httpapi/pages":   2,
	"adapters/metrics":         10,
	"adapters/ofprovider":      19,
	"adapters/otelhook":        2,
	"adapters/promhook":        2,
	"adapters/remote":          54,
	"adapters/remote/lastgood": 6,
	"adapters/server":          41,
	"adapters/smtptest":        8,
	"adapters/sqlstore":        91,
	"adapters/storetest":       33,
	"capture":                  171,
	"capture/experiments":      54,
	"capture/insights":         34,
	"capture/queries":          43,
	"flags":                    282,
	"flags/flagsdiff":          34,
	"flags/flagshttp":          3,
	"flags/flagstest":          16,
	"flags/wire":               54,
	"geoip":                    21,
	"adapters/passkeys":        6,
	"adapters/oidc":            6,
	"adapters/oidctest":        6,
	"management":               265,
	"management/batchexports":  60,
	"management/dashboards":    79,
	"management/errortracking": 22,
	"management/featureflags":  204,
	"management/organizations": 182,
	"management/rooms":         5,
}

func TestHouse_Exported(t *testing.T) {
	rooms := map[string]int{}
	root := os.DirFS("../..")
	modules := workspace(t, root)
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		_, nested := fs.Stat(root, path.Join(file, "go.mod"))
		switch {
		case d.IsDir() && nested == nil && !slices.Contains(modules, file): // a module for tests, which has no users
			return fs.SkipDir
		case d.IsDir() && file != "." && (name == "internal" || name == "testdata" || name == "node_modules" || name[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		source, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
		if err == nil && parsed.Name.Name != "main" {
			rooms[path.Dir(file)] += exported(parsed)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for room, n := range rooms {
		if n > mostExported[room] {
			t.Errorf("%s exports %d identifiers, want at most %d: make internal what no user needs", room, n, mostExported[room])
		}
	}
	for room := range mostExported {
		if rooms[room] == 0 {
			t.Errorf("%s exports nothing: is there such a room?", room)
		}
	}
}

// exported counts what a file shows.
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

// receiver is the name of a receiver's type.
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

func TestHouse_ExportedCounts(t *testing.T) {
	parsed, err := parser.ParseFile(token.NewFileSet(), "a.go", `package a
const A, b = 1, 2
var C int
type D[T any] struct{ E, F int }
type g struct{}
func (*D[T]) H() {}
func (g) I() {}
func J() {}
func k() {}`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got := exported(parsed); got != 5 {
		t.Errorf("%d exported, want A, C, D, H and J", got)
	}
}
