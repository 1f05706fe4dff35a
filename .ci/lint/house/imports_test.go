package house

import (
	"fmt"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// Each rule of the table is proved with a file.
func TestImports(t *testing.T) {
	file := func(imports ...string) []string { return imports }
	tests := map[string]struct {
		imports []string
		path    string
		want    []string
	}{
		"allowed":            {file("fmt", "net/netip", "github.com/spaolacci/murmur3"), "flags/a.go", nil},
		"flags and net":      {file("net"), "flags/a.go", []string{`import of "net": this room does no I/O`}},
		"flags and net/http": {file("net/http"), "flags/a.go", []string{`import of "net/http": this room does no I/O`}},
		"flags and os":       {file("os"), "flags/a.go", []string{`import of "os": this room does no I/O`}},
		"flags and a file":   {file("os"), "flags/open.go", nil},
		"the file and net":   {file("net"), "flags/open.go", []string{`import of "net": this room does no I/O`}},
		"flags and sql":      {file("database/sql"), "flags/a.go", []string{`import of "database/sql": this room does no I/O`}},
		"flags and slog":     {file("log/slog"), "flags/a.go", []string{`import of "log/slog": this room does no I/O`}},
		"flags and geoip":    {file(module + "/geoip"), "flags/a.go", []string{`import of "` + module + `/geoip": the table does not name this arrow`}},
		"an arrow upwards":   {file(module + "/adapters/httpapi"), "geoip/a.go", []string{`import of "` + module + `/adapters/httpapi": the table does not name this arrow`}},
		"adapter to adapter": {file(module + "/adapters/filesource"), "adapters/httpapi/a.go", []string{`import of "` + module + `/adapters/filesource": the table does not name this arrow`}},
		"a new module":       {file("example.org/leftpad"), "geoip/a.go", []string{`import of "example.org/leftpad": the table does not name this module`}},
		"a longer name":      {file("github.com/spaolacci/murmur32"), "flags/a.go", []string{`import of "github.com/spaolacci/murmur32": the table does not name this module`}},
		"the leaf":           {file(module + "/" + leaf), "geoip/a.go", nil},
		"above the leaf":     {file(module + "/flags"), leaf + "/a.go", []string{`import of "` + module + `/flags": the table does not name this arrow`}},
		"cgo":                {file("C"), "geoip/a.go", []string{`import of "C": not here`}},
		"a new room":         {file(), "utils/a.go", []string{"the table names no such room"}},
		"a file at the root": {file(), "a.go", []string{"the table names no such room"}},
		"an inner room":      {file(module + "/flags/internal/rustregexp"), "adapters/httpapi/a.go", []string{`import of "` + module + `/flags/internal/rustregexp": the table does not name this arrow`}},
		"a part of a room":   {file(module + "/adapters/internal/exports"), "adapters/internal/exports/s3/b.go", nil},
		"a room in a room":   {file(module + "/management"), "adapters/internal/exports/s3/a.go", nil},
		"context below":      {file("context"), "flags/evaluate.go", []string{`import of "context": only flags/reader.go, flags/readset.go, flags/snapshot.go, flags/hook.go, flags/open.go, flags/flagstest/flagstest.go, flags/wire/context.go may`}},
		"context inside":     {file("context"), "flags/internal/rustregexp/a.go", []string{`import of "context": only flags/reader.go, flags/readset.go, flags/snapshot.go, flags/hook.go, flags/open.go, flags/flagstest/flagstest.go, flags/wire/context.go may`}},
		"context above":      {file("context"), "flags/serving/ports.go", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var source strings.Builder
			source.WriteString("package x\n")
			for _, imported := range tt.imports {
				fmt.Fprintf(&source, "import _ %q\n", imported)
			}
			syntax, err := parser.ParseFile(token.NewFileSet(), tt.path, source.String(), 0)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range judgeFile(tt.path, syntax) {
				got = append(got, p.text)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q\nwant %q", got, tt.want)
			}
		})
	}
}
