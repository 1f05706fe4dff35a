package main

import (
	"slices"
	"testing"
)

func TestAffected(t *testing.T) {
	store, inStore := slowToBuild[0], slowToBuild[0]+"/internal/tables"
	packages := []goPackage{
		{ImportPath: "p/flags", Dir: "flags"},
		{ImportPath: "p/flags/wire", Dir: "flags/wire"},
		{ImportPath: "p/httpapi", Dir: "adapters/httpapi", Imports: []string{"p/flags"}, data: []string{"testdata/http"}},
		{ImportPath: "p/cmd", Dir: "cmd/bunting", Imports: []string{"p/httpapi"}},
		{ImportPath: "p/geoip", Dir: "geoip", XTestImports: []string{"p/flags"}},
		{ImportPath: "p/metrics", Dir: "adapters/metrics", Imports: []string{"p/geoip"}},
		{ImportPath: "p/console", Dir: "adapters/console"},
		{ImportPath: store, Dir: "adapters/internal/sqlstore", Imports: []string{"p/flags", inStore}},
		{ImportPath: inStore, Dir: "adapters/internal/sqlstore/internal/tables"},
	}
	for _, tt := range []struct {
		name                     string
		files                    []string
		changed, reached, tested []string
	}{
		{"nothing", nil, nil, nil, nil},
		{
			"a file of a package: those that import it, and whose tests do",
			[]string{"flags/decide.go"},
			[]string{"p/flags"}, []string{"p/flags", "p/httpapi", "p/cmd", "p/geoip", store}, []string{"p/flags", "p/httpapi", "p/geoip"},
		},
		{"a package below another", []string{"flags/wire/json.go"}, []string{"p/flags/wire"}, []string{"p/flags/wire"}, []string{"p/flags/wire"}},
		{"a test alone", []string{"flags/decide_test.go"}, []string{"p/flags"}, []string{"p/flags"}, []string{"p/flags"}},
		{"the store", []string{"adapters/internal/sqlstore/store.go"}, []string{store}, []string{store}, []string{store}},
		{"a package inside the store", []string{"adapters/internal/sqlstore/internal/tables/t.go"}, []string{inStore}, []string{store, inStore}, []string{store, inStore}},
		{"a test alone inside the store", []string{"adapters/internal/sqlstore/internal/tables/t_test.go"}, []string{inStore}, []string{inStore}, []string{inStore}},
		{"a file that a package embeds", []string{"adapters/console/src/pages/home.ts"}, []string{"p/console"}, []string{"p/console"}, []string{"p/console"}},
		{"cases below testdata", []string{"testdata/http/cases/flags.json"}, nil, nil, []string{"p/httpapi"}},
		{"a page at the top", []string{"README.md"}, nil, nil, nil},
	} {
		changed, reached, tested := affected(tt.files, packages)
		if !slices.Equal(changed, tt.changed) || !slices.Equal(reached, tt.reached) || !slices.Equal(tested, tt.tested) {
			t.Errorf("%s: %v changed, %v to check and %v to test; want %v, %v and %v", tt.name, changed, reached, tested, tt.changed, tt.reached, tt.tested)
		}
	}
}

func TestChange_In(t *testing.T) {
	c := change{files: []string{"adapters/console/src/a.ts"}}
	if !c.in("flags", "adapters/console") || c.in("adapters/cons") {
		t.Error("a folder holds the files below it, and no others")
	}
}
