package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Errors of the compiler are found in a package, in packages that import it, and in tests of either
// kind.
func TestTypeCheck(t *testing.T) {
	sound := map[string]string{
		"a/a.go":           "package a\n\nimport \"strings\"\n\nfunc F() int { return len(strings.ToUpper(\"\")) }\n",
		"a/export_test.go": "package a\n\nvar G = F\n\ntype T struct{}\n",
		"a/a_test.go":      "package a_test\n\nimport (\n\t\"testing\"\n\n\t\"p/a\"\n\t\"p/b\"\n)\n\nfunc TestF(t *testing.T) { _ = a.G() + b.H(a.New()) }\n",
		"a/new.go":         "package a\n\ntype N struct{}\n\nfunc New() *N { return nil }\n",
		"b/b.go":           "package b\n\nimport \"p/a\"\n\nfunc H(*a.N) int { return a.F() }\n",
	}
	for _, tt := range []struct{ name, file, text, want string }{
		{name: "what compiles"},
		{"a package", "a/a.go", "package a\n\nfunc F() int { return nothing }\n", "a.go:3:23: undefined: nothing"},
		{"one that imports it", "a/a.go", "package a\n\nfunc F() string { return \"\" }\n", "b.go:5:27: cannot use a.F() (value of type string) as int value"},
		{"a test in the package", "a/export_test.go", "package a\n\nvar G = Gone\n", "export_test.go:3:9: undefined: Gone"},
		{"a test outside of it", "a/export_test.go", "package a\n", "a_test.go:10:34: undefined: a.G"},
		{"a file that is no Go", "b/b.go", "package b\n\nfunc {\n", "b.go:3:6: expected 'IDENT'"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			packages := []goPackage{
				{ImportPath: "p/a", Dir: filepath.Join(dir, "a"), GoFiles: []string{"a.go", "new.go"}, TestGoFiles: []string{"export_test.go"}, XTestGoFiles: []string{"a_test.go"}, Imports: []string{"strings"}, XTestImports: []string{"testing", "p/a", "p/b"}},
				{ImportPath: "p/b", Dir: filepath.Join(dir, "b"), GoFiles: []string{"b.go"}, Imports: []string{"p/a"}},
			}
			for _, p := range packages {
				if err := os.Mkdir(p.Dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for name, text := range sound {
				if name == tt.file {
					text = tt.text
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			err := typeCheck([]string{"p/a", "p/b"}, packages)
			if got := errorText(err); !strings.Contains(got, tt.want) || (tt.want == "") != (err == nil) {
				t.Errorf("typeCheck returns %q, want %q", got, tt.want)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
