package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every package that a program can import has a promise, and ARCHITECTURE.md shows it.
func TestPromises_Rows(t *testing.T) {
	for dir := range table {
		if _, there := promises[dir]; isImportable(dir) && !there {
			t.Errorf("%s can be imported and has no row in promises", dir)
		}
	}
	page, err := os.ReadFile(filepath.Join(top, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	onPage := map[string]promise{}
	for _, row := range regexp.MustCompile(`(?m)^\| \*\*(.*)\*\* \| (.*) \|$`).FindAllStringSubmatch(string(page), -1) {
		for _, dir := range regexp.MustCompile("`([a-z/]+)`").FindAllStringSubmatch(row[2], -1) {
			onPage[dir[1]] = promise(row[1])
		}
	}
	for dir, want := range promises {
		if _, there := table[dir]; !there {
			t.Errorf("%s has a row in promises and none in table", dir)
		}
		if onPage[dir] != want {
			t.Errorf("ARCHITECTURE.md shows %s as %q, want %q", dir, onPage[dir], want)
		}
		delete(onPage, dir)
	}
	for dir, p := range onPage {
		t.Errorf("ARCHITECTURE.md shows %s as %s, and promises has no row for it", dir, p)
	}
}

// A stable package has an example, and each identifier that it exports has a comment of its own.
func TestPromises_StablePackagesAreDescribed(t *testing.T) {
	for dir, p := range promises {
		if p != stable {
			continue
		}
		files, err := sourceOf(filepath.Join(top, dir), parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, name := range undescribed(file) {
				t.Errorf("%s: the comment of %s does not say what it is", dir, name)
			}
		}
		if !hasExample(t, dir) {
			t.Errorf("%s has no Example", dir)
		}
	}
}

func hasExample(t *testing.T, dir string) bool {
	names, err := filepath.Glob(filepath.Join(top, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
			f, ok := d.(*ast.FuncDecl)
			return ok && strings.HasPrefix(f.Name.Name, "Example")
		})
	})
}

func TestUndescribed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "a.go", `package a
// A is described.
type A struct{}
// see A
type B interface {
	C()
	D() // is described
}
// Only has one method.
type Only interface{ K() }
// The E are described.
const (
	E = 1
)
var F int
// G, too.
func G() {}
func (A) H() {}
func (A) String() string { return "" }
// A J is described.
func J() {}
func k() {}`, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(undescribed(file), " "); got != "B B.C F H" {
		t.Errorf("%s, want B, B.C, F and H", got)
	}
}
