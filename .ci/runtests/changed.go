package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// change describes the changes that the quick tier tests.
type change struct {
	base     string      // the commit that the files are compared with
	files    []string    // files that differ from base, relative to the root of the repository
	changed  []string    // packages of go.work that contain them
	reached  []string    // these, and all packages that import them, directly or not
	packages []string    // to test: see affected
	all      []goPackage // of go.work
}

// in reports whether a file below one of the folders has changed.
func (c change) in(folders ...string) bool {
	return slices.ContainsFunc(c.files, func(file string) bool {
		return slices.ContainsFunc(folders, func(folder string) bool { return strings.HasPrefix(file, folder+"/") })
	})
}

// findChanges compares the working tree, including untracked files, with the common ancestor of
// HEAD and origin/main.
func (w *world) findChanges() (change, error) {
	var c change
	head, err := git("rev-parse", "HEAD")
	if err != nil {
		return c, err
	}
	c.base = head[0] // without origin/main, only uncommitted changes count
	if base, err := git("merge-base", "HEAD", "origin/main"); err == nil {
		c.base = base[0]
	}
	differ, err := git("diff", "--name-only", c.base)
	if err != nil {
		return c, err
	}
	untracked, err := git("ls-files", "--others", "--exclude-standard")
	if err != nil {
		return c, err
	}
	c.files = append(differ, untracked...)
	packages, err := listPackages()
	if err != nil {
		return c, err
	}
	c.changed, c.reached, c.packages = affected(c.files, packages)
	c.all = packages
	w.report.print(fmt.Sprintf("changed since %.10s: %d files; %d packages to check, %d to test", c.base, len(c.files), len(c.reached), len(c.packages)))
	return c, nil
}

// goPackage contains some members of the output of `go list -json`.
type goPackage struct {
	ImportPath, Dir                    string
	Imports, TestImports, XTestImports []string
	GoFiles, TestGoFiles, XTestGoFiles []string
	data                               []string // folders below testdata that its tests name
}

// listPackages returns the packages of the modules in go.work, with folders relative to the root of
// the repository.
func listPackages() ([]goPackage, error) {
	top, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	out, err := outputOf("go", "list", "-json=ImportPath,Dir,Imports,TestImports,XTestImports,GoFiles,TestGoFiles,XTestGoFiles", "work")
	if err != nil {
		return nil, err
	}
	var packages []goPackage
	for d := json.NewDecoder(strings.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		if p.Dir, err = filepath.Rel(top, p.Dir); err != nil {
			return nil, err
		}
		if p.data, err = dataFolders(p); err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

// affected returns import paths of packages: packages with a changed file, all packages that import
// them directly or indirectly, and packages to test. The latter are the changed packages, packages
// with tests that name a changed folder below testdata, and packages that import a changed one,
// except if they need a package of slowToBuild. A package of slowToBuild is tested if one of its
// internal packages has changed, because it has their tests.
func affected(files []string, packages []goPackage) (changed, reached, tested []string) {
	byDir, byPath := map[string]goPackage{}, map[string]goPackage{}
	for _, p := range packages {
		byDir[p.Dir], byPath[p.ImportPath] = p, p
	}
	isChanged, onlyTests := map[string]bool{}, map[string]bool{}
	folders := map[string]bool{}
	for _, file := range files {
		folders[dataFolder(file)] = true
		if p, ok := owner(file, byDir); ok {
			onlyTests[p.ImportPath] = strings.HasSuffix(file, "_test.go") && (!isChanged[p.ImportPath] || onlyTests[p.ImportPath])
			isChanged[p.ImportPath] = true
		}
	}
	isOther := func(path string) bool { return isChanged[path] && !onlyTests[path] } // for packages that import it
	for _, p := range packages {
		imports := slices.Concat(p.Imports, p.TestImports, p.XTestImports)
		needs := func(path string) bool {
			return slices.ContainsFunc(append(imports, p.ImportPath), func(from string) bool { return reaches(from, path, byPath) })
		}
		isInside := func(path string) bool { return strings.HasPrefix(path, p.ImportPath+"/internal/") }
		if isChanged[p.ImportPath] {
			changed = append(changed, p.ImportPath)
		}
		if isChanged[p.ImportPath] || slices.ContainsFunc(changedOf(packages, isOther), needs) {
			reached = append(reached, p.ImportPath)
		}
		if isChanged[p.ImportPath] ||
			slices.ContainsFunc(p.data, func(folder string) bool { return folders[folder] }) ||
			slices.ContainsFunc(imports, isOther) && !slices.ContainsFunc(slowToBuild, needs) ||
			slices.Contains(slowToBuild, p.ImportPath) && slices.ContainsFunc(changedOf(packages, isOther), isInside) {
			tested = append(tested, p.ImportPath)
		}
	}
	return changed, reached, tested
}

func changedOf(packages []goPackage, isOther func(string) bool) (paths []string) {
	for _, p := range packages {
		if isOther(p.ImportPath) {
			paths = append(paths, p.ImportPath)
		}
	}
	return paths
}

// owner returns the package in the nearest folder above a file.
func owner(file string, byDir map[string]goPackage) (goPackage, bool) {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if p, ok := byDir[dir]; ok {
			return p, true
		}
		if dir == "." {
			return goPackage{}, false
		}
	}
}

// dataFolder returns "testdata/x" for a file below that folder at the root of the repository, and
// "-" for any other file.
func dataFolder(file string) string {
	if parts := strings.Split(file, "/"); len(parts) > 1 && parts[0] == "testdata" {
		return parts[0] + "/" + parts[1]
	}
	return "-"
}

// dataFolders returns the files and folders directly below testdata that the source of a package's
// tests names.
func dataFolders(p goPackage) ([]string, error) {
	var found []string
	for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		source, err := os.ReadFile(filepath.Join(p.Dir, file))
		if err != nil {
			return nil, err
		}
		for _, part := range strings.Split(string(source), "../testdata/")[1:] {
			name, _, _ := strings.Cut(part, "\"")
			name, _, _ = strings.Cut(name, "/")
			found = append(found, "testdata/"+name)
		}
	}
	return found, nil
}
