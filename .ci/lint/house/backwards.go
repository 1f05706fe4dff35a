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

// mostBackwards is the maximum percentage of a package's arrows that may lead backwards; the goal
// is 10. There is an arrow from a file to each other file of the package whose functions, types,
// fields or methods it uses. The files are sorted into an order with few backward arrows. Packages
// of only a few files are not checked.
var mostBackwards = map[string]int{
	"adapters/httpapi/internal/frame":     10,
	"adapters/httpapi/internal/history":   10,
	"adapters/httpapi/internal/manage":    10,
	"adapters/httpapi/internal/results":   10,
	"adapters/httpapi/internal/sdk":       10,
	"adapters/internal/exports":           10,
	"adapters/remote":                     10,
	"adapters/server":                     10,
	"adapters/sqlstore":                   10,
	"adapters/sqlstore/internal/database": 10,
	"adapters/sqlstore/internal/events":   10,
	"capture":                             10,
	"capture/insights/internal/filter":    10,
	"capture/insights/internal/scan":      10,
	"capture/insights/internal/trends":    10,
	"capture/insights/internal/trials":    10,
	"cmd/bunting/internal/client":         10,
	"cmd/bunting/internal/convert":        10,
	"flags":                               10,
	"flags/serving":                       10,
	"management":                          10,
	"management/batchexports":             10,
	"management/dashboards":               10,
	"management/cohorts":                  10,
	"management/experiments":              10,
	"management/featureflags":             10,
	"management/rollouts":                 10,
	"management/internal/storedflags":     10,
	"management/surveys":                  10,
	"management/organizations":            10,
}

// Backwards reports packages with files that depend on each other in cycles, so that no file can be
// read before the rest. The remedy is to move shared code into a third file.
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

// ShareBackwards returns the percentage of a package's arrows that lead backwards.
func ShareBackwards(fset *token.FileSet, pkg *types.Package, uses map[*ast.Ident]types.Object) float64 {
	all, back := countBackwards(arrowsOf(fset, pkg, uses))
	return 100 * float64(len(back)) / float64(max(all, 1))
}

// arrowsOf returns for each file of a package the other files that it uses. Test files are ignored.
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

// countBackwards counts the arrows, and lists the backward arrows in a good order.
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

// orderByCalls orders the files: repeatedly it selects the remaining file with the greatest
// difference between the number of files that it uses and the number of files that use it.
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

// moveWell moves a file to the position with the fewest backward arrows, and reports whether their
// number has decreased.
func moveWell(order []string, file string, arrows map[string]map[string]bool) bool {
	at := slices.Index(order, file)
	rest := slices.Delete(slices.Clone(order), at, at+1)
	cost, best, least, now := 0, 0, 0, 0
	for i, other := range rest { // the cost is relative to the first position
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
