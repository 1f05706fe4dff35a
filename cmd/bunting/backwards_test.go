package main

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// mostBackwards is how many per cent of a room's arrows may lead backwards; the goal is
// 10. An arrow leads from a file to another one of the room whose functions, types,
// fields or methods it names. The files stand in the order that leaves few backwards.
// Rooms of a handful of files are not counted.
var mostBackwards = map[string]int{
	"adapters/convert":            10,
	"adapters/httpapi":            10,
	"adapters/internal/exports":   10,
	"adapters/remote":             10,
	"adapters/server":             10,
	"adapters/sqlstore":           10,
	"capture":                     10,
	"capture/insights":            10,
	"cmd/bunting/internal/client": 10,
	"flags":                       10,
	"management":                  10,
	"management/batchexports":     10,
	"management/dashboards":       17,
	"management/featureflags":     13,
	"management/organizations":    10,
}

// A room whose files name each other in a circle has to be read whole: what they share
// goes into a file below both.
func TestHouse_Backwards(t *testing.T) {
	for name, most := range mostBackwards {
		arrows := arrowsOf(t, os.DirFS("../.."), name)
		all, back := backwards(arrows)
		if all == 0 {
			t.Errorf("%s has no arrows between its files: is there such a room?", name)
			continue
		}
		if share := (100*len(back) + all - 1) / all; share > most {
			t.Errorf("%s: %d of %d arrows lead backwards, %d %%, want at most %d %%: %v", name, len(back), all, share, most, back)
		}
	}
}

// arrowsOf are the files of a room that each of its files names something of.
func arrowsOf(t *testing.T, root fs.FS, room string) map[string]map[string]bool {
	t.Helper()
	names, err := fs.Glob(root, room+"/*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := fs.ReadFile(root, name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(files, path.Base(name), source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	uses := map[*ast.Ident]types.Object{}
	// What is of other packages stays unknown, which is no fault here.
	config := types.Config{Importer: noImports{}, Error: func(error) {}}
	_, _ = config.Check(room, files, parsed, &types.Info{Uses: uses})
	arrows := map[string]map[string]bool{}
	for ident, object := range uses {
		if object.Pkg() == nil || object.Pkg().Path() != room {
			continue
		}
		from, to := files.Position(ident.Pos()).Filename, files.Position(object.Pos()).Filename
		if from != to && to != "" {
			if arrows[from] == nil {
				arrows[from] = map[string]bool{}
			}
			arrows[from][to] = true
		}
	}
	return arrows
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not here") }

// backwards counts the arrows, and names those that lead backwards in a good order.
func backwards(arrows map[string]map[string]bool) (all int, back []string) {
	order := topFirst(arrows)
	for improved := true; improved; {
		improved = false
		for _, file := range slices.Clone(order) {
			improved = moveWell(order, file, arrows) || improved
		}
	}
	place := map[string]int{}
	for i, file := range order {
		place[file] = i
	}
	for from, tos := range arrows {
		for to := range tos {
			if all++; place[to] < place[from] {
				back = append(back, from+" -> "+to)
			}
		}
	}
	slices.Sort(back)
	return all, back
}

// topFirst puts first who names more files than name it, of those that are left.
func topFirst(arrows map[string]map[string]bool) (order []string) {
	left := map[string]bool{}
	for from, tos := range arrows {
		left[from] = true
		for to := range tos {
			left[to] = true
		}
	}
	for len(left) > 0 {
		best, most := "", 0
		for file := range left {
			lead := 0
			for other := range left {
				if arrows[file][other] {
					lead++
				}
				if arrows[other][file] {
					lead--
				}
			}
			if best == "" || lead > most || lead == most && file < best {
				best, most = file, lead
			}
		}
		order = append(order, best)
		delete(left, best)
	}
	return order
}

// moveWell moves a file to where the fewest of its arrows lead backwards, and reports
// whether these are fewer than before.
func moveWell(order []string, file string, arrows map[string]map[string]bool) bool {
	at := slices.Index(order, file)
	rest := slices.Delete(slices.Clone(order), at, at+1)
	cost, best, least, now := 0, 0, 0, 0
	for i, other := range rest { // cost is relative to the first place
		if i == at {
			now = cost
		}
		if arrows[file][other] {
			cost++
		}
		if arrows[other][file] {
			cost--
		}
		if cost < least {
			best, least = i+1, cost
		}
	}
	if at == len(rest) {
		now = cost
	}
	if least >= now {
		return false
	}
	copy(order, slices.Insert(rest, best, file))
	return true
}

// The count above, worked by hand: a names b's function and c's method, b a field of c,
// and c names a's constant, which is the only way back.
func TestHouse_BackwardsCounts(t *testing.T) {
	room := fstest.MapFS{
		"x/a.go":      {Data: []byte("package x\n\nimport \"os\"\n\nconst A = 1\n\nfunc a(s C) { b(); s.m(); os.Exit(s.n) }\n")},
		"x/b.go":      {Data: []byte("package x\n\nfunc b() int { var s C; return s.n }\n")},
		"x/c.go":      {Data: []byte("package x\n\ntype C struct{ n int }\n\nfunc (C) m() int { return A }\n")},
		"x/c_test.go": {Data: []byte("package x\n\nfunc t() { a(C{}); b() }\n")},
	}
	all, back := backwards(arrowsOf(t, room, "x"))
	if all != 4 || !slices.Equal(back, []string{"c.go -> a.go"}) {
		t.Errorf("%d arrows, backwards %v; want 4, c.go -> a.go", all, back)
	}
}
