package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// promise is the degree to which programs may rely on the identifiers that a package exports.
type promise string

const (
	// stable packages stay compatible: from the first tag on, .ci/api reports incompatible changes
	// of their modules.
	stable promise = "stable"
	// unstable packages may change with each version. Programs can import them, because they are of
	// use without the server, or because types of stable packages refer to them. A package that no
	// program needs is below internal.
	unstable promise = "without promise"
)

// promises are the packages that a program can import, except commands.
var promises = map[string]promise{
	"flags":               stable,
	"flags/flagstest":     stable,
	"flags/flagshttp":     stable,
	"flags/serving":       stable,
	"flags/wire":          stable, // modules of different versions share it in one program
	"geoip":               stable,
	"capture":             stable,
	"adapters/filesource": stable,
	"adapters/httpapi":    stable,
	"adapters/ofprovider": stable,
	"adapters/otelhook":   stable,
	"adapters/promhook":   stable,
	"adapters/remote":     stable,
	"adapters/server":     stable,
	"adapters/storetest":  stable,

	"adapters/command":         unstable,
	"adapters/console":         unstable,
	"adapters/flaglint":        unstable,
	"adapters/remote/lastgood": unstable,
	"capture/experiments":      unstable,
	"capture/guarded":          unstable,
	"capture/ids":              unstable,
	"capture/jsontext":         unstable,
	"capture/insights":         unstable,
	"capture/insights/port":    unstable,
	"capture/queries":          unstable,
	"flags/sdklint":            unstable,
	"management":               unstable,
	"management/batchexports":  unstable,
	"management/changes":       unstable,
	"management/cohorts":       unstable,
	"management/dashboards":    unstable,
	"management/earlyaccess":   unstable,
	"management/errortracking": unstable,
	"management/experiments":   unstable,
	"management/featureflags":  unstable,
	"management/files":         unstable,
	"management/organizations": unstable,
	"management/rollouts":      unstable,
	"management/rooms":         unstable,
	"management/surveys":       unstable,
}

// isImportable reports whether programs can import a package of the table of imports, and would:
// it is neither internal nor a command.
func isImportable(dir string) bool {
	parts := strings.Split(dir, "/")
	return !slices.Contains(parts, "internal") && parts[0] != "cmd"
}

// Surface returns the numbers of identifiers that the stable packages and all other packages of a
// repository export.
func Surface(root string) (ofStable, ofOthers int, err error) {
	for dir, p := range promises {
		files, err := sourceOf(filepath.Join(root, dir), 0)
		if err != nil {
			return 0, 0, err
		}
		for _, file := range files {
			if p == stable {
				ofStable += exported(file)
			} else {
				ofOthers += exported(file)
			}
		}
	}
	return ofStable, ofOthers, nil
}

// sourceOf parses the files of a folder without its tests.
func sourceOf(dir string, mode parser.Mode) (files []*ast.File, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, mode|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: %w", dir, os.ErrNotExist)
	}
	return files, nil
}

// undescribed returns the exported identifiers of a file without a comment that makes sense by itself:
// functions, methods and types whose comment does not begin with their name, and constants,
// variables and methods of interfaces without a comment of their own or of their group. The only
// method of an interface is described by the interface.
func undescribed(file *ast.File) (names []string) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Name.IsExported() && (decl.Recv == nil || ast.IsExported(receiver(decl.Recv.List[0].Type))) && !describes(decl.Doc, decl.Name.Name) && !isStandard(decl) {
				names = append(names, decl.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				names = append(names, undescribedSpec(decl, spec)...)
			}
		}
	}
	return names
}

func undescribedSpec(decl *ast.GenDecl, spec ast.Spec) (names []string) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return nil
		}
		if !describes(decl.Doc, spec.Name.Name) && !describes(spec.Doc, spec.Name.Name) {
			names = append(names, spec.Name.Name)
		}
		if i, ok := spec.Type.(*ast.InterfaceType); ok && len(i.Methods.List) > 1 {
			for _, m := range i.Methods.List {
				if len(m.Names) > 0 && m.Doc == nil && m.Comment == nil {
					names = append(names, spec.Name.Name+"."+m.Names[0].Name)
				}
			}
		}
	case *ast.ValueSpec:
		if spec.Doc != nil || spec.Comment != nil || decl.Doc != nil {
			return nil
		}
		for _, name := range spec.Names {
			if name.IsExported() {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// describes reports whether a comment begins with a name, perhaps after an article.
func describes(doc *ast.CommentGroup, name string) bool {
	words := strings.Fields(doc.Text())
	if len(words) > 2 && words[0] != name && slices.Contains([]string{"A", "An", "The"}, words[0]) {
		words = words[1:]
	}
	return len(words) > 1 && strings.TrimRight(words[0], ",") == name
}

// isStandard reports whether a method has the name of a method that the standard library describes.
func isStandard(f *ast.FuncDecl) bool {
	return f.Recv != nil && slices.Contains([]string{"Error", "Unwrap", "Is", "String", "Format", "LogValue", "MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText", "ServeHTTP"}, f.Name.Name)
}
