// Package flaglint finds flags in Go code: [Analyzer] reports code that reads a key that no flag
// has, for go vet and other drivers of go/analysis; bunting unused uses [In].
package flaglint

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/bunting-flags/bunting/flags"
)

// Analyzer reports reads of keys that no flag has. The flags are in the file of its flag
// -definitions.
var Analyzer = newAnalyzer()

func newAnalyzer() *analysis.Analyzer {
	a := &analysis.Analyzer{
		Name: "flaglint",
		Doc:  "report code that reads a feature flag that does not exist\n\nThe flags are read from the file of -definitions: a definitions file, the output of bunting flags export, or a response of /flags/definitions.",
		URL:  "https://github.com/bunting-flags/bunting",
	}
	file := a.Flags.String("definitions", "", "`file` with the flags that exist")
	a.Run = func(pass *analysis.Pass) (any, error) { return nil, run(pass, *file) }
	return a
}

func run(pass *analysis.Pass, file string) error {
	flagKeys, err := keys(file)
	if err != nil {
		return err
	}
	for _, f := range pass.Files {
		if ast.IsGenerated(f) {
			continue
		}
		for _, r := range In(f, pass.TypesInfo).Reads {
			if !flagKeys[r.Key] {
				pass.Reportf(r.Pos, "there is no flag %q", r.Key)
			}
		}
	}
	return nil
}

// keys returns the keys of the flags in all projects of a file, without deleted ones.
func keys(file string) (map[string]bool, error) {
	if file == "" {
		return nil, fmt.Errorf("flaglint: -definitions is required: give the file with the flags that exist")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("flaglint: %w", err)
	}
	f, err := flags.ParsePayload(text, "file")
	if err != nil {
		return nil, fmt.Errorf("flaglint: %s: %w", file, err)
	}
	found := map[string]bool{}
	for _, p := range f.Projects {
		for i := range p.Definitions.Flags {
			if d := &p.Definitions.Flags[i]; !d.Deleted {
				found[d.Key] = true
			}
		}
	}
	return found, nil
}

// Read is a place in the code that reads a flag.
type Read struct {
	Pos token.Pos // of the key
	Key string
}

// Found has the results for a file.
type Found struct {
	Reads []Read
	Texts []string // values of all string literals, which may be keys
	Names []string // identifiers, which may be functions of bunting generate
}

// readers are the methods and functions that read a flag, of our Reader, OpenFeature's Client and
// PostHog's, with the index of the argument that is the key.
var readers = func() map[string]int {
	out := map[string]int{}
	for _, name := range strings.Fields("Bool String Number JSON BooleanValue StringValue FloatValue IntValue ObjectValue") {
		out[name], out[name+"Detail"], out[name+"Details"] = 1, 1, 1
	}
	for _, name := range strings.Fields("IsFeatureEnabled GetFeatureFlag GetFeatureFlagPayload GetFeatureFlagResult") {
		out[name] = 0
	}
	return out
}()

// ownPackages are the path prefixes of the packages with readers.
var ownPackages = []string{"github.com/bunting-flags/bunting", "github.com/open-feature/go-sdk", "github.com/posthog/posthog-go"}

// In searches a file. With type information, keys may be constants, and functions of other packages
// with the name of a reader are ignored. If info is nil, keys must be literals, and the first
// argument must look like a context.
func In(f *ast.File, info *types.Info) (out Found) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			out.Names = append(out.Names, n.Name)
		case *ast.BasicLit:
			if text, ok := stringValue(n, nil); ok {
				out.Texts = append(out.Texts, text)
			}
		case *ast.CallExpr:
			if pos := keyOf(n, info); pos != nil {
				out.read(pos, info)
			}
		case *ast.CompositeLit:
			if pos := payloadKey(n); pos != nil {
				out.read(pos, info)
			}
		}
		return true
	})
	return out
}

func (f *Found) read(expr ast.Expr, info *types.Info) {
	if key, ok := stringValue(expr, info); ok {
		f.Reads = append(f.Reads, Read{expr.Pos(), key})
	}
}

func stringValue(e ast.Expr, info *types.Info) (string, bool) {
	if info != nil {
		if v := info.Types[e].Value; v != nil && v.Kind() == constant.String {
			return constant.StringVal(v), true
		}
		return "", false
	}
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// keyOf returns the key of a call that reads a flag, or nil for other calls.
func keyOf(call *ast.CallExpr, info *types.Info) ast.Expr {
	fun := call.Fun
	generic := false
	if index, ok := fun.(*ast.IndexExpr); ok { // flags.JSON[T]
		fun, generic = index.X, true
	}
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	position, ok := readers[sel.Sel.Name]
	if !ok {
		return nil
	}
	if info != nil {
		called, ok := info.Uses[sel.Sel].(*types.Func)
		if !ok || called.Pkg() == nil || !isOwnPackage(called.Pkg().Path()) {
			return nil
		}
		generic = called.Signature().Recv() == nil
	}
	if generic {
		position++ // flags.JSON(ctx, reader, key, …)
	}
	if position >= len(call.Args) || info == nil && position > 0 && !looksLikeContext(call.Args[0]) {
		return nil
	}
	return call.Args[position]
}

func isOwnPackage(path string) bool {
	return slices.ContainsFunc(ownPackages, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
}

// looksLikeContext reports whether an expression is, for example, ctx, requestCtx,
// context.Background() or r.Context().
func looksLikeContext(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return strings.HasSuffix(strings.ToLower(e.Name), "ctx")
	case *ast.SelectorExpr:
		return strings.HasSuffix(strings.ToLower(e.Sel.Name), "ctx")
	case *ast.CallExpr:
		sel, ok := e.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		x, _ := sel.X.(*ast.Ident)
		return sel.Sel.Name == "Context" || x != nil && x.Name == "context"
	}
	return false
}

// payloadKey returns the value of Key in posthog.FeatureFlagPayload{Key: …}, or nil for other
// literals.
func payloadKey(lit *ast.CompositeLit) ast.Expr {
	sel, ok := lit.Type.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "FeatureFlagPayload" {
		return nil
	}
	for _, e := range lit.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if name, ok := pair.Key.(*ast.Ident); ok && name.Name == "Key" {
				return pair.Value
			}
		}
	}
	return nil
}
