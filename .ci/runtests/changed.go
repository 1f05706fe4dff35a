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

// change is what the quick tier looks at.
type change struct {
	base     string   // the commit that the files are compared with
	files    []string // that differ from base, by path from the top of the repository
	packages []string // of go.work that these belong to, and all that import them, directly or not
}

// in reports whether a file below one of the folders has changed.
func (c change) in(folders ...string) bool {
	return slices.ContainsFunc(c.files, func(file string) bool {
		return slices.ContainsFunc(folders, func(folder string) bool { return strings.HasPrefix(file, folder+"/") })
	})
}

func (w *world) findChanges() (change, error) {
	var c change
	head, err := git("rev-parse", "HEAD")
	if err != nil {
		return c, err
	}
	c.base = head[0] // where there is no origin/main, what is not committed yet counts
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
	c.packages = affected(c.files, packages)
	w.report.print(fmt.Sprintf("changed since %.10s: %d files; %d packages to test", c.base, len(c.files), len(c.packages)))
	return c, nil
}

// goPackage is what `go list -json` prints of a package, in part.
type goPackage struct {
	ImportPath, Dir                    string
	Imports, TestImports, XTestImports []string
	TestGoFiles, XTestGoFiles          []string
	data                               []string // folders below testdata that its tests name
}

// listPackages returns the packages of the modules in go.work, with folders relative to
// the top of the repository.
func listPackages() ([]goPackage, error) {
	top, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	out, err := outputOf("go", "list", "-json=ImportPath,Dir,Imports,TestImports,XTestImports,TestGoFiles,XTestGoFiles", "work")
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

// affected returns the import paths of the packages to test after the files have changed:
// those in whose folder a file is, or whose tests name its folder below testdata, and
// all packages that import them.
func affected(files []string, packages []goPackage) []string {
	byDir := map[string]goPackage{}
	for _, p := range packages {
		byDir[p.Dir] = p
	}
	changed := map[string]bool{}
	tested := map[string]bool{} // only its tests have changed, or what they import
	for _, file := range files {
		if p, ok := owner(file, byDir); ok && strings.HasSuffix(file, "_test.go") {
			tested[p.ImportPath] = true
		} else if ok {
			changed[p.ImportPath] = true
		}
		for _, p := range packages {
			if slices.Contains(p.data, dataFolder(file)) {
				tested[p.ImportPath] = true
			}
		}
	}
	isChanged := func(path string) bool { return changed[path] }
	for before := -1; before != len(changed); {
		before = len(changed)
		for _, p := range packages {
			if slices.ContainsFunc(p.Imports, isChanged) {
				changed[p.ImportPath] = true
			}
		}
	}
	var paths []string
	for _, p := range packages {
		if changed[p.ImportPath] || tested[p.ImportPath] || slices.ContainsFunc(slices.Concat(p.TestImports, p.XTestImports), isChanged) {
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

// dataFolder returns "testdata/x" for a file below that folder at the top of the
// repository, and "-" for any other.
func dataFolder(file string) string {
	if parts := strings.Split(file, "/"); len(parts) > 1 && parts[0] == "testdata" {
		return parts[0] + "/" + parts[1]
	}
	return "-"
}

// dataFolders returns the folders and files right below testdata that a package's tests
// name in their source.
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
