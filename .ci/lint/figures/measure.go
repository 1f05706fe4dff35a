package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/uudashr/gocognit"
	"golang.org/x/tools/go/packages"

	"github.com/bunting-flags/bunting/ci/lint/house"
	"github.com/bunting-flags/bunting/ci/lint/suite"
)

const (
	module = "github.com/bunting-flags/bunting"
	// complexity is the greatest cognitive complexity of a function.
	complexity = 25
)

// measure returns all figures.
func measure(root string) ([]figure, error) {
	files, err := list(root)
	if err != nil {
		return nil, err
	}
	byDir, lengths := map[string]int{}, []int{}
	longest := goFile{}
	var source, tests, managementSource, managementTests int
	for _, f := range files {
		inManagement := strings.HasPrefix(f.name, "management/")
		switch {
		case f.isTest:
			tests += f.lines
			if inManagement {
				managementTests += f.lines
			}
		default:
			source += f.lines
			if inManagement {
				managementSource += f.lines
			}
		}
		if f.isTest || !f.isProduct() {
			continue
		}
		byDir[path.Dir(f.name)]++
		lengths = append(lengths, f.lines)
		if f.lines > longest.lines {
			longest = f
		}
	}
	slices.Sort(lengths)
	largest := ""
	for dir, n := range byDir {
		if n > byDir[largest] || n == byDir[largest] && dir < largest {
			largest = dir
		}
	}
	ofStable, ofOthers, err := house.Surface(root)
	if err != nil {
		return nil, err
	}
	complexFunctions, share, where, err := measureTyped(root)
	if err != nil {
		return nil, err
	}
	return []figure{
		{name: "files of the largest package", value: float64(byDir[largest]), where: largest, bound: mostFiles, goal: 55},
		{name: "lines of the longest file", value: float64(longest.lines), where: longest.name, bound: 400, goal: 400},
		{name: "lines of the median file", value: float64(lengths[(len(lengths)-1)/2]), bound: 160, goal: 160},
		{name: "lines of tests for each line of source", value: share1000(tests, source), bound: leastTests, goal: 0.75, least: true},
		{name: "the same in management", value: share1000(managementTests, managementSource), bound: 0.62, goal: 0.62, least: true},
		{name: "exported identifiers of stable packages", value: float64(ofStable), bound: mostStable, goal: 700},
		{name: "exported identifiers of other packages", value: float64(ofOthers), bound: mostOthers, goal: 850},
		{name: "greatest % of backward references in a package", value: share, where: where, bound: mostBackwards, goal: 10},
		{name: "exceptions of the linters", value: float64(suite.Exceptions()), bound: mostExceptions, goal: 0},
		{name: fmt.Sprintf("functions of a complexity above %d", complexity), value: float64(len(complexFunctions)), where: strings.Join(complexFunctions, " "), bound: mostComplex, goal: 0},
	}, nil
}

// share1000 returns a/b, rounded down to thousandths.
func share1000(a, b int) float64 { return float64(1000*a/max(b, 1)) / 1000 }

// goFile is a Go file of the repository.
type goFile struct {
	name   string
	lines  int
	isTest bool
}

// isProduct reports whether a file is part of the programs and libraries: it is neither generated
// nor for tests or benchmarks.
func (f goFile) isProduct() bool {
	return !strings.HasPrefix(f.name, "bench/") && !strings.Contains(f.name, "/storetest/") && !strings.Contains(f.name, "/testdata/") &&
		!strings.HasPrefix(f.name, "testdata/") && !strings.HasSuffix(f.name, "_gen.go")
}

// list returns the Go files that git tracks.
func list(root string) (out []goFile, err error) {
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.go")
	cmd.Dir = root
	names, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, and not yet committed
		}
		if err != nil {
			return nil, err
		}
		out = append(out, goFile{name, bytes.Count(data, []byte("\n")), strings.HasSuffix(name, "_test.go")})
	}
	return out, nil
}

// measureTyped returns the functions that are too complex, and the greatest share of backward
// references in a package of more than house.FewFiles files.
func measureTyped(root string) (complexFunctions []string, share float64, where string, err error) {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOWORK=") })
	pkgs, err := packages.Load(&packages.Config{
		Dir: root, Env: env,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports,
	}, "work")
	if err != nil {
		return nil, 0, "", err
	}
	slices.SortFunc(pkgs, func(a, b *packages.Package) int { return cmp.Compare(a.PkgPath, b.PkgPath) })
	for _, p := range pkgs {
		if len(p.Errors) > 0 {
			return nil, 0, "", p.Errors[0]
		}
		dir := strings.TrimPrefix(strings.TrimPrefix(p.PkgPath, module), "/")
		for _, file := range p.Syntax {
			complexFunctions = append(complexFunctions, complexIn(dir, file)...)
		}
		if len(p.Syntax) <= house.FewFiles {
			continue
		}
		if s := house.ShareBackwards(p.Fset, p.Types, p.TypesInfo.Uses); s > share {
			share, where = s, dir
		}
	}
	return complexFunctions, share, where, nil
}

// complexIn returns the functions of a file that are too complex.
func complexIn(dir string, file *ast.File) (out []string) {
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && gocognit.Complexity(f) > complexity {
			out = append(out, dir+"."+f.Name.Name)
		}
	}
	return out
}
