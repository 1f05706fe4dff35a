// Package house has analyzers for this repository's own rules: what a package may import, how much
// it may export, and that its files can be read in an order without cycles.
//
// In this package a room is a package, or a package with the packages below it, that has a row in
// the table of imports.
package house

import (
	"go/ast"
	"go/parser"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

const module = "github.com/bunting-flags/bunting"

// outside are the modules that the table does not cover, for tests and tools.
var outside = []string{
	"adapters/console/browsertest", "adapters/console/build", "adapters/httpapi/sdktest",
	"adapters/internal/bucket/s3server", "adapters/internal/docs/build", "adapters/internal/exports/s3test", "adapters/internal/natsstream/natstest",
	"bench", "ci/lint", "ci/release", "ci/runtests", "testdata/geoip/generate",
}

// sources are the files of a package without its tests.
type sources struct {
	dir   string // relative to the root of the repository
	files []sourceFile
}

type sourceFile struct {
	name   string
	syntax *ast.File
}

// sourcesOf returns the sources of the pass's package, including the files that build constraints
// exclude. It returns no files for a package of a module in outside, or for one that has only
// tests.
func sourcesOf(pass *analysis.Pass) (s sources, err error) {
	s.dir = strings.TrimPrefix(strings.TrimPrefix(withoutVariant(pass.Pkg.Path()), module), "/")
	if isUnder(s.dir, outside) {
		return sources{}, nil
	}
	add := func(name string, syntax *ast.File) {
		if base := filepath.Base(name); strings.HasSuffix(base, ".go") && !strings.HasSuffix(base, "_test.go") {
			s.files = append(s.files, sourceFile{base, syntax})
		}
	}
	for _, syntax := range pass.Files {
		add(pass.Fset.File(syntax.FileStart).Name(), syntax)
	}
	if len(s.files) == 0 {
		return sources{}, nil
	}
	for _, name := range pass.IgnoredFiles {
		if strings.HasSuffix(name, ".go") {
			syntax, err := parser.ParseFile(pass.Fset, name, nil, parser.SkipObjectResolution)
			if err != nil {
				return sources{}, err
			}
			add(name, syntax)
		}
	}
	return s, nil
}

// withoutVariant returns an import path without the suffix of a package that includes its tests.
func withoutVariant(path string) string {
	path, _, _ = strings.Cut(path, " ")
	return path
}

// isUnder reports whether a path is one of the roots or below one.
func isUnder(p string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return p == root || strings.HasPrefix(p, root+"/") })
}
