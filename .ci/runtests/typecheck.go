package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// typeCheck checks the types of packages and of their tests, and returns the errors that the
// compiler would report. It reads our own packages from source without compiling them, in seconds
// instead of minutes.
func typeCheck(paths []string, packages []goPackage) error {
	w := &sources{fset: token.NewFileSet(), packages: map[string]goPackage{}, files: map[string]*ast.File{}}
	for _, p := range packages {
		w.packages[p.ImportPath] = p
	}
	compiled, err := compiledImports(packages)
	if err != nil {
		return err
	}
	w.others = importer.ForCompiler(w.fset, "gc", func(path string) (io.ReadCloser, error) {
		if compiled[path] == "" {
			return nil, fmt.Errorf("go list does not name %s", path)
		}
		return os.Open(compiled[path])
	})
	plain := &variant{sources: w, imported: map[string]*types.Package{}}
	var found []error
	for _, path := range paths {
		found = append(found, w.checkTests(plain, w.packages[path]))
	}
	return errors.Join(found...)
}

// compiledImports returns the files with the types of all packages that ours import and that are
// not ours, by import path.
func compiledImports(packages []goPackage) (map[string]string, error) {
	ours := map[string]bool{"unsafe": true, "C": true}
	for _, p := range packages {
		ours[p.ImportPath] = true
	}
	paths := map[string]bool{}
	for _, p := range packages {
		for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if !ours[path] {
				paths[path] = true
			}
		}
	}
	args := []string{"list", "-export", "-f", "{{.ImportPath}} {{.Export}}"}
	for path := range paths {
		args = append(args, path)
	}
	out, err := outputOf("go", args...)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for line := range strings.Lines(out) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	return files, nil
}

// sources are our packages and their files, each parsed only once.
type sources struct {
	fset     *token.FileSet
	packages map[string]goPackage
	files    map[string]*ast.File
	others   types.Importer // of packages that are not ours
}

// parse returns the named files of a folder. Each file is parsed only once.
func (w *sources) parse(dir string, names ...string) ([]*ast.File, error) {
	var files []*ast.File
	for _, name := range names {
		path := filepath.Join(dir, name)
		if w.files[path] == nil {
			file, err := parser.ParseFile(w.fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			w.files[path] = file
		}
		files = append(files, w.files[path])
	}
	return files, nil
}

// check checks the types of files as one package; if bodies is false, function bodies are not
// checked. It returns at most ten errors.
func (w *sources) check(path string, imports types.Importer, bodies bool, files []*ast.File) (*types.Package, error) {
	var found []error
	config := types.Config{
		Importer:         imports,
		IgnoreFuncBodies: !bodies,
		Sizes:            types.SizesFor("gc", runtime.GOARCH),
		Error: func(err error) {
			if len(found) < 10 {
				found = append(found, err)
			}
		},
	}
	p, _ := config.Check(path, w.fset, files, nil) // its error is the first of found
	return p, errors.Join(found...)
}

// checkTests checks a package together with its internal tests, and then its external tests.
func (w *sources) checkTests(plain *variant, p goPackage) error {
	files, err := w.parse(p.Dir, slices.Concat(p.GoFiles, p.TestGoFiles)...)
	if err != nil {
		return err
	}
	tested, err := w.check(p.ImportPath, plain, true, files)
	if err != nil || len(p.XTestGoFiles) == 0 {
		return err
	}
	if files, err = w.parse(p.Dir, p.XTestGoFiles...); err != nil {
		return err
	}
	_, err = w.check(p.ImportPath+"_test", &variant{sources: w, plain: plain, imported: map[string]*types.Package{p.ImportPath: tested}, tested: p.ImportPath}, true, files)
	return err
}

// variant imports packages. The variant for the tests of a package replaces it by the package with
// its internal tests, and checks all packages that import it again.
type variant struct {
	*sources
	imported map[string]*types.Package
	plain    *variant // nil for the variant of packages that are not tested
	tested   string   // the import path of the tested package
}

// Import implements types.Importer. Packages that do not import the tested package are shared with
// the plain variant.
func (v *variant) Import(path string) (*types.Package, error) {
	switch p, ours := v.packages[path]; {
	case path == "unsafe":
		return types.Unsafe, nil
	case v.imported[path] != nil:
		return v.imported[path], nil
	case !ours:
		return v.others.Import(path)
	case v.plain != nil && !v.reaches(path, v.tested):
		return v.plain.Import(path)
	default:
		files, err := v.parse(p.Dir, p.GoFiles...)
		if err != nil {
			return nil, err
		}
		made, err := v.check(path, v, false, files)
		v.imported[path] = made
		return made, err
	}
}

// reaches reports whether a package imports another, directly or indirectly.
func (w *sources) reaches(from, to string) bool { return reaches(from, to, w.packages) }

func reaches(from, to string, packages map[string]goPackage) bool {
	seen := map[string]bool{}
	var look func(path string) bool
	look = func(path string) bool {
		if path == to {
			return true
		}
		if seen[path] {
			return false
		}
		seen[path] = true
		return slices.ContainsFunc(packages[path].Imports, look)
	}
	return look(from)
}
