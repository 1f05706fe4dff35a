package suite

import (
	"go/token"
	"slices"
	"testing"

	"github.com/bunting-flags/bunting/ci/lint/unit"
)

func TestApplyExceptions(t *testing.T) {
	list := []exception{
		{"a", "cognitive-complexity", "a.go", "function f "},
		{"a", "errorlint", "a_test.go", ""},
		{"b", "errorlint", "b.go", ""},
	}
	complexF := unit.Finding{Position: token.Position{Filename: "/x/a/a.go"}, Rule: "cognitive-complexity", Message: "function f is complex"}
	complexG := unit.Finding{Position: token.Position{Filename: "/x/a/a.go"}, Rule: "cognitive-complexity", Message: "function g is complex"}
	test := unit.Finding{Position: token.Position{Filename: "/x/a/a_test.go"}, Rule: "errorlint", Message: "an error"}
	mended := unit.Finding{Rule: "errorlint", Message: `mended, take it out of .ci/lint/suite/left.go: "" of a/a_test.go`}
	for name, tt := range map[string]struct {
		path     string
		found    []unit.Finding
		complete bool
		want     []unit.Finding
	}{
		"what is in the list":           {"a", []unit.Finding{complexF, test}, true, nil},
		"with the package's tests":      {"a [" + module + "a.test]", []unit.Finding{complexF, test}, true, nil},
		"another function":              {"a", []unit.Finding{complexF, complexG, test}, true, []unit.Finding{complexG}},
		"another package":               {"c", []unit.Finding{complexF, test}, true, []unit.Finding{complexF, test}},
		"mended":                        {"a", []unit.Finding{complexF}, true, []unit.Finding{mended}},
		"perhaps mended, not looked at": {"a", []unit.Finding{complexF}, false, nil},
	} {
		if got := applyExceptions(list, module+tt.path, tt.found, tt.complete); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
