package flags_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/sdklint"
	"github.com/bunting-flags/bunting/flags/serving"
)

// functions are all exported functions of the package and of packages sdklint and serving, and
// types the zero values of their types. Interfaces are excluded, since callers implement them.
var (
	functions = map[string]any{
		"ComparesElements": flags.ComparesElements, "Compile": flags.Compile, "DecodeJSON": flags.DecodeJSON, "FromContext": flags.FromContext,
		"IsDocument": flags.IsDocument, "JSON": flags.JSON[int], "JSONDetail": flags.JSONDetail[int], "Problems": sdklint.Problems,
		"Nearest": flags.Nearest, "NewContext": flags.NewContext, "NewDecider": serving.NewDecider, "NewFilter": flags.NewFilter, "NewReader": flags.NewReader, "Open": flags.Open, "Operators": flags.Operators,
		"ParseDefinitions": flags.ParseDefinitions, "ParseFile": flags.ParseFile, "ParsePayload": flags.ParsePayload, "Payload": flags.Payload[int],
		"Static": flags.Static, "StaticSource": serving.StaticSource, "UnknownKeys": flags.UnknownKeys, "WithHooks": flags.WithHooks, "WithTrack": flags.WithTrack,
	}
	types = []any{
		flags.Aggregation{}, flags.Bootstrap{}, flags.BucketTrace{}, flags.Cohort{}, flags.CohortNode{}, flags.CohortTrace{}, flags.Condition{}, flags.ConditionTrace{}, serving.Config{},
		flags.Decision{}, flags.DefinitionError{}, flags.Definitions{}, flags.Detail{}, flags.File{}, flags.FileProject{}, flags.FilterSettings{}, flags.FilterTrace{}, flags.Flag{}, flags.FlagName{},
		flags.FlagTrace{}, flags.Hash(""), flags.Holdout{}, flags.Hook{}, flags.Kind(0), sdklint.Problem{}, flags.MembersLimit{}, flags.Needs{}, flags.Operand(0), flags.Operator(""),
		flags.OperatorInfo{}, flags.Organization{}, flags.Part(0), flags.PersonalKey{}, flags.Pin{}, flags.PinTrace{}, flags.Project{}, flags.Properties{}, flags.Property{}, flags.PropertyType(""), serving.Query{}, flags.Read{},
		flags.Reason{}, flags.ReasonCode(0), serving.Request{}, flags.Selection{}, flags.SnapshotConfig{}, flags.FlagStatus(0), serving.Stats{}, flags.Stored{}, flags.Subject{}, flags.Trace{},
		flags.TraceDecision{}, flags.TraceSubject{}, flags.Undecided{}, flags.ValueSource(0), flags.Variant{},
		// These contain locks or memory and must not be copied.
		(*serving.Answer)(nil), (*serving.Decider)(nil), (*flags.Decisions)(nil), (*flags.FileReader)(nil), (*flags.Filter)(nil), (*serving.Memory)(nil), (*flags.Set)(nil), (*flags.Snapshot)(nil),
	}
	nils       = []string{"Snapshot", "Set", "Decider", "Decisions", "Decision", "FileReader"}
	interfaces = "Continuity Locator Members People Reader Source Usage"
)

// No exported function panics for zero values: of arguments (nil subjects, memory,
// functions), of receivers, and for nil results of other functions.
func TestZero_NothingPanics(t *testing.T) {
	for name, f := range functions {
		callZero(t, name, reflect.ValueOf(f))
	}
	for _, zero := range types {
		kind := reflect.TypeOf(zero)
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		pointer := reflect.New(kind)
		for i := range pointer.NumMethod() {
			name := pointer.Type().Method(i).Name
			callZero(t, "zero "+kind.Name()+"."+name, pointer.Method(i))
			if _, byValue := kind.MethodByName(name); !byValue && slices.Contains(nils, kind.Name()) {
				callZero(t, "nil "+kind.Name()+"."+name, reflect.Zero(pointer.Type()).Method(i))
			}
		}
	}
}

// Sets, Deciders and Readers in use do not panic either.
func TestZero_OfWhatWasMade(t *testing.T) {
	set := flags.Compile(parse(t, readFlags))
	limit := int64(1000)
	ports := contextUser{&serving.Memory{}}
	source := serving.StaticSource("", flags.Project{ID: 1, FlagLimit: &limit}, parse(t, readFlags))
	decider, err := serving.NewDecider(serving.Config{Source: contextSource{source}, People: ports, Continuity: ports, Members: ports, Usage: ports})
	if err != nil {
		t.Fatal(err)
	}
	reader := decider.Reader("", flags.Selection{})
	hook := flags.Hook{Before: func(ctx context.Context, _ *flags.Read) context.Context { return ctx }, After: func(ctx context.Context, _ *flags.Read) { _ = ctx.Err() }}
	for _, made := range []any{set, decider, set.Reader(), reader, flags.WithHooks(reader, hook), reader.For(noContext, &flags.Subject{DistinctID: "u"})} {
		v := reflect.ValueOf(made)
		for i := range v.NumMethod() {
			callZero(t, v.Type().String()+"."+v.Type().Method(i).Name, v.Method(i))
		}
	}
	// A nil subject is evaluated as the empty distinct id (flags.md §2.4).
	if d, ok := set.EvaluateFlag("on", nil, time.Time{}, nil); !ok || !d.Enabled {
		t.Errorf("%v, %+v", ok, d)
	}
	if err := decider.Decide(context.Background(), nil, nil); err != nil {
		t.Error(err)
	}
	if err := (&serving.Decider{}).Decide(context.Background(), nil, nil); !errors.Is(err, flags.ErrNotReady) {
		t.Error(err)
	}
}

// Reads for a subject whose stored facts are looked up with a nil context do not panic.
func TestZero_NoContext(t *testing.T) {
	ports := contextUser{&serving.Memory{}}
	source := serving.StaticSource("phc_x", flags.Project{ID: 1}, parse(t, `{"flags":[{"id":1,"key":"f","active":true,"ensure_experience_continuity":true,
		"filters":{"groups":[{"properties":[{"key":"plan","type":"person","operator":"is_not_set"}]},{"rollout_percentage":50}]}}]}`))
	decider, err := serving.NewDecider(serving.Config{Source: contextSource{source}, People: ports, Continuity: ports})
	if err != nil {
		t.Fatal(err)
	}
	sub := &flags.Subject{DistinctID: "u", AnonymousID: "a"}
	r := decider.Reader("phc_x", flags.Selection{})
	for name, r := range map[string]flags.Reader{"a Decider's": r, "with hooks": flags.WithHooks(r, flags.Hook{Before: func(ctx context.Context, _ *flags.Read) context.Context {
		return context.WithValue(ctx, contextUser{}, 1)
	}})} {
		if on, d := r.BoolDetail(noContext, "f", sub, false); !on || d.Err != nil {
			t.Errorf("%s: %v, %v", name, on, d.Err)
		}
		if s := flags.FromContext(flags.NewContext(noContext, r.For(noContext, sub))); !s.Bool("f", false) {
			t.Errorf("%s: no snapshot", name)
		}
	}
	trace, err := decider.Explain(noContext, &serving.Request{APIKey: "phc_x", Subject: *sub}, "f")
	if err != nil || !trace.Decision.Enabled {
		t.Errorf("%v, %v", trace, err)
	}
	var out serving.Answer
	if err := decider.Preview(noContext, &serving.Request{APIKey: "phc_x", Subject: *sub}, &out); err != nil || !out.Decisions.Find("f").Enabled {
		t.Errorf("%v, %v", out.Decisions.List, err)
	}
}

// noContext is the nil context of a careless caller.
var noContext context.Context

// contextSource and contextUser are ports that use the context of their calls.
type contextSource struct{ serving.Source }

func (s contextSource) ProjectByKey(ctx context.Context, key string) (flags.Project, error) {
	if err := ctx.Err(); err != nil {
		return flags.Project{}, err
	}
	return s.Source.ProjectByKey(ctx, key)
}

func (s contextSource) Definitions(ctx context.Context, p flags.Project) (flags.Definitions, error) {
	if err := ctx.Err(); err != nil {
		return flags.Definitions{}, err
	}
	return s.Source.Definitions(ctx, p)
}

type contextUser struct{ *serving.Memory }

func (p contextUser) Stored(ctx context.Context, q serving.Query) (*flags.Stored, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return p.Memory.Stored(ctx, q)
}

func (p contextUser) Overrides(ctx context.Context, project int64, distinctID, anonymousID string, keys []string) (map[string]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return p.Memory.Overrides(ctx, project, distinctID, anonymousID, keys)
}

func (p contextUser) StaticMembers(ctx context.Context, project int64, cohorts []int64, limit flags.MembersLimit) (map[int64][]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return p.Memory.StaticMembers(ctx, project, cohorts, limit)
}

func (p contextUser) Spend(ctx context.Context, _ string, _ time.Time, n int64) (int64, error) {
	return n, ctx.Err()
}

// callZero calls a function with zero values, with and without a context, and iterates over
// its results.
func callZero(t *testing.T, name string, f reflect.Value) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s panics: %v", name, p)
		}
	}()
	for _, ctx := range []reflect.Value{reflect.ValueOf(context.Background()), reflect.Zero(reflect.TypeFor[context.Context]())} {
		var args []reflect.Value
		for i := range f.Type().NumIn() {
			in := f.Type().In(i)
			switch {
			case in == reflect.TypeFor[context.Context]():
				args = append(args, ctx)
			case f.Type().IsVariadic() && i == f.Type().NumIn()-1:
			default:
				args = append(args, reflect.Zero(in))
			}
		}
		for _, out := range f.Call(args) {
			if out.Kind() == reflect.Func && out.Type().CanSeq() && !out.IsNil() {
				for range out.Seq() {
				}
			}
			_ = fmt.Sprint(out)
		}
	}
}

// The two lists above are complete.
func TestZero_Complete(t *testing.T) {
	listed := map[string]bool{}
	for name := range functions {
		listed[name] = true
	}
	for _, zero := range types {
		kind := reflect.TypeOf(zero)
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		listed[kind.Name()] = true
	}
	for _, name := range strings.Fields(interfaces) {
		listed[name] = true
	}
	for _, name := range exportedNames(t) {
		if !listed[name] && name != "Properties" { // a map
			t.Errorf("%s is in no list of this file", name)
		}
	}
}

func exportedNames(t *testing.T) (names []string) {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.go", "sdklint/*.go", "serving/*.go"} {
		in, err := fs.Glob(os.DirFS("."), pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, in...)
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
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil && decl.Name.IsExported() {
					names = append(names, decl.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok && spec.Name.IsExported() {
						names = append(names, spec.Name.Name)
					}
				}
			}
		}
	}
	return names
}
