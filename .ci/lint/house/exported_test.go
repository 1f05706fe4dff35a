package house

import (
	"go/parser"
	"go/token"
	"testing"
)

func TestExported_Counts(t *testing.T) {
	parsed, err := parser.ParseFile(token.NewFileSet(), "a.go", `package a
const A, b = 1, 2
var C int
type D[T any] struct{ E, F int }
type g struct{}
func (*D[T]) H() {}
func (g) I() {}
func J() {}
func k() {}`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got := exported(parsed); got != 5 {
		t.Errorf("%d exported, want A, C, D, H and J", got)
	}
}
