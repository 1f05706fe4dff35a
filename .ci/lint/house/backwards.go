package house

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
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
	"flags":                       11,
	"management":                  10,
	"management/batchexports":     10,
	"management/dashboards":       17,
	"management/featureflags":     14,
	"management/organizations":    11,
}

// Backwards reports rooms whose files name each other in circles. Such a room has to be
// read whole: what two files share goes into a third one, which both name.
var Backwards = &analysis.Analyzer{
	Name: "backwards",
	Doc:  "reports packages whose files name each other in circles",
	Run: func(pass *analysis.Pass) (any, error) {
		s, err := sourcesOf(pass)
		most, counted := mostBackwards[s.dir]
		if err != nil || !counted {
			return nil, err
		}
		pos := pass.Files[0].Name.Pos()
		all, back := countBackwards(arrowsOf(pass.Fset, pass.Pkg, pass.TypesInfo.Uses))
		if all == 0 {
			pass.Reportf(pos, "the files of the package name nothing of each other: it needs no row in mostBackwards")
		} else if share := (100*len(back) + all - 1) / all; share > most {
			pass.Reportf(pos, "%d of %d arrows between files lead backwards, %d %%, want at most %d %%: %s", len(back), all, share, most, strings.Join(back, ", "))
		}
		return nil, nil
	},
}

// arrowsOf are the files of a package that each of its files names something of. Tests do
// not count.
func arrowsOf(fset *token.FileSet, pkg *types.Package, uses map[*ast.Ident]types.Object) map[string]map[string]bool {
	file := func(pos token.Pos) string {
		name := filepath.Base(fset.Position(pos).Filename)
		if !pos.IsValid() || strings.HasSuffix(name, "_test.go") {
			return ""
		}
		return name
	}
	arrows := map[string]map[string]bool{}
	for ident, object := range uses {
		from, to := file(ident.Pos()), file(object.Pos())
		if object.Pkg() != pkg || from == "" || to == "" || from == to {
			continue
		}
		if arrows[from] == nil {
			arrows[from] = map[string]bool{}
		}
		arrows[from][to] = true
	}
	return arrows
}

// countBackwards counts the arrows, and names those that lead backwards in a good order.
func countBackwards(arrows map[string]map[string]bool) (all int, back []string) {
	order := orderByCalls(arrows)
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

// orderByCalls puts first who names more files than name it, of those that are left.
func orderByCalls(arrows map[string]map[string]bool) (order []string) {
	remaining := map[string]bool{}
	for from, tos := range arrows {
		remaining[from] = true
		for to := range tos {
			remaining[to] = true
		}
	}
	for len(remaining) > 0 {
		best, most := "", 0
		for file := range remaining {
			lead := 0
			for other := range remaining {
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
		delete(remaining, best)
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
