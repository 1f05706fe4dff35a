package capture_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
)

// Zero values and nil must not panic.
func TestZero(t *testing.T) {
	surface{functions: map[string]any{
		"AppendBatch": capture.AppendBatch, "CheckToken": capture.CheckToken, "Decode": capture.Decode, "DecodeRecording": capture.DecodeRecording,
		"DecodeV1": capture.DecodeV1, "PeekToken": capture.PeekToken, "Exposures": capture.Exposures, "IsImpersonalV1": capture.IsImpersonalV1,
		"NewIntake": capture.NewIntake, "NewObject": capture.NewObject,
		"NewProcessor": capture.NewProcessor, "NewRecorder": capture.NewRecorder, "ParseBatch": capture.ParseBatch, "ParseObject": capture.ParseObject,
		"PersonID": capture.PersonID, "PieceSize": capture.PieceSize, "StaticKeys": capture.StaticKeys,
		"StoredDistinctID": capture.StoredDistinctID, "WarningID": capture.WarningID,
	}, skipped: "SplitPerson", // its transaction must exist
		handles: []any{
			(*capture.Intake)(nil), (*capture.Recorder)(nil), (*capture.Processor)(nil), (*capture.People)(nil), (*capture.AppenderFunc)(nil),
		}, data: []any{
			(*capture.DropReason)(nil), (*capture.DropError)(nil), (*capture.NameQuery)(nil), (*capture.Object)(nil), (*capture.PersonMode)(nil),
			(*capture.Refusal)(nil), (*capture.SeenName)(nil), (*capture.StoredPerson)(nil), (*capture.Submission)(nil),
			(*capture.V1Error)(nil), (*capture.V1Headers)(nil),
		}}.check(t)
}

// surface is the exported API of a package: all functions, and the types with methods.
type surface struct {
	functions map[string]any // by name
	handles   []any          // nil pointers to types that a program creates once and retains
	data      []any          // nil pointers to the other types, whose methods are not called on nil
	skipped   string         // names that are not called, separated by spaces
}

// check calls the functions of the package in this folder with zero values, and every method
// of its types on zero values and, for handles, on nil. No call may panic.
func (s surface) check(t *testing.T) {
	t.Helper()
	covered := slices.AppendSeq(strings.Fields(s.skipped), maps.Keys(s.functions))
	for name, f := range s.functions {
		call(t, name, reflect.ValueOf(f))
	}
	for i, value := range slices.Concat(s.handles, s.data) {
		null := reflect.ValueOf(value)
		zero := reflect.New(null.Type().Elem())
		covered = append(covered, null.Type().Elem().Name())
		for m := range zero.NumMethod() {
			name := null.Type().Elem().Name() + "." + null.Type().Method(m).Name
			call(t, "zero "+name, zero.Method(m))
			if _, byValue := null.Type().Elem().MethodByName(null.Type().Method(m).Name); i < len(s.handles) && !byValue {
				call(t, "nil "+name, null.Method(m))
			}
		}
	}
	for _, name := range exportedNames(t) {
		if !slices.Contains(covered, name) {
			t.Errorf("%s is not given", name)
		}
	}
}

// call calls a function with zero values, and a context that ends soon.
func call(t *testing.T, name string, f reflect.Value) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s panics: %v", name, p)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	var args []reflect.Value
	for i := range f.Type().NumIn() {
		switch in := f.Type().In(i); {
		case in == reflect.TypeFor[context.Context]():
			args = append(args, reflect.ValueOf(ctx))
		case !f.Type().IsVariadic() || i < f.Type().NumIn()-1:
			args = append(args, reflect.Zero(in))
		}
	}
	_ = fmt.Sprint(f.Call(args))
}

// exportedNames returns the functions of the package in this folder, and its types with
// methods.
func exportedNames(t *testing.T) (names []string) {
	t.Helper()
	files, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() {
				continue
			}
			name := f.Name
			if f.Recv != nil {
				recv := f.Recv.List[0].Type
				if pointer, ok := recv.(*ast.StarExpr); ok {
					recv = pointer.X
				}
				name, _ = recv.(*ast.Ident)
			}
			if name != nil && name.IsExported() && !slices.Contains(names, name.Name) {
				names = append(names, name.Name)
			}
		}
	}
	return names
}
