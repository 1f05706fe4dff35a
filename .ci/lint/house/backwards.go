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

const (
	// mostBackwards is the maximum percentage of a package's arrows that may lead backwards. There is
	// an arrow from a file to each other file of the package whose functions, types, fields or methods
	// it uses. The files are sorted into an order with few backward arrows.
	mostBackwards = 10
	// FewFiles is the number of files up to which a package can be read in any order. Only packages
	// with more files are checked.
	FewFiles = 10
)

// Backwards reports packages with files that depend on each other in cycles, so that no file can be
// read before the rest. The remedy is to move shared code into a third file.
var Backwards = &analysis.Analyzer{
	Name: "backwards",
	Doc:  "reports packages whose files name each other in circles",
	Run: func(pass *analysis.Pass) (any, error) {
		s, err := sourcesOf(pass)
		if err != nil || len(s.files) <= FewFiles {
			return nil, err
		}
		all, back := countBackwards(arrowsOf(pass.Fset, pass.Pkg, pass.TypesInfo.Uses))
		if share := (100*len(back) + all - 1) / max(all, 1); share > mostBackwards {
			pass.Reportf(pass.Files[0].Name.Pos(), "%d of %d arrows between files lead backwards, %d %%, want at most %d %%: %s", len(back), all, share, mostBackwards, strings.Join(back, ", "))
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
