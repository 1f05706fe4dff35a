package unit

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"strings"

	"golang.org/x/tools/go/gcexportdata"
)

// Config is the file that the go command writes for each package and passes to a vet tool: it
// describes the package and the results for its imports.
type Config struct {
	ImportPath   string // "p", or "p [p.test]" with the test files of p
	Dir          string
	GoVersion    string
	GoFiles      []string
	NonGoFiles   []string
	IgnoredFiles []string
	ModulePath   string
	ImportMap    map[string]string // from the path in an import to that of the package
	PackageFile  map[string]string // export data by package, from the compiler
	PackageVetx  map[string]string // facts by package, from this program
	VetxOnly     bool              // the package is a dependency: only its facts are needed
	VetxOutput   string            // output file of the facts
	Stdout       string            // output file of the findings
}

func readConfig(name string) (*Config, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	c := new(Config)
	if err := json.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// path returns the import path without the suffix of a package that includes its tests.
func (c *Config) path() string {
	path, _, _ := strings.Cut(c.ImportPath, " ")
	return path
}

// program is a package with its types.
type program struct {
	*Config
	fset   *token.FileSet
	files  []*ast.File
	pkg    *types.Package
	info   *types.Info
	sizes  types.Sizes
	loaded map[string]*types.Package // the packages of all loaded types
}

// load parses the package and checks its types. If bodies is false, function bodies are not
// checked.
func (c *Config) load(bodies bool) (*program, error) {
	p := &program{
		Config: c,
		fset:   token.NewFileSet(),
		sizes:  types.SizesFor("gc", build.Default.GOARCH),
		loaded: map[string]*types.Package{},
		info: &types.Info{
			Types:        map[ast.Expr]types.TypeAndValue{},
			Defs:         map[*ast.Ident]types.Object{},
			Uses:         map[*ast.Ident]types.Object{},
			Implicits:    map[ast.Node]types.Object{},
			Instances:    map[*ast.Ident]types.Instance{},
			Scopes:       map[ast.Node]*types.Scope{},
			Selections:   map[*ast.SelectorExpr]*types.Selection{},
			FileVersions: map[*ast.File]string{},
		},
	}
	for _, name := range c.GoFiles {
		file, err := parser.ParseFile(p.fset, name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, file)
	}
	config := types.Config{Importer: p, Sizes: p.sizes, GoVersion: c.GoVersion, IgnoreFuncBodies: !bodies}
	var err error
	p.pkg, err = config.Check(c.ImportPath, p.fset, p.files, p.info)
	return p, err
}

// Import reads a package's types from the compiler's export data.
func (p *program) Import(path string) (*types.Package, error) {
	if mapped, is := p.ImportMap[path]; is {
		path = mapped
	}
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if pkg := p.loaded[path]; pkg != nil && pkg.Complete() {
		return pkg, nil
	}
	file, err := os.Open(p.PackageFile[path])
	if err != nil {
		return nil, fmt.Errorf("no export data of %q: %w", path, err)
	}
	defer file.Close()
	data, err := gcexportdata.NewReader(file) //nolint:SA1019 // go vet hands out archives, which only this can read
	if err != nil {
		return nil, fmt.Errorf("%q: %w", path, err)
	}
	return gcexportdata.Read(data, p.fset, p.loaded, path)
}
