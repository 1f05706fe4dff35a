package httpapi

import (
	"maps"
	"slices"
)

// RoutesForTest is the table of routes: path to the methods that it answers,
// sorted.
func RoutesForTest() map[string][]string {
	out := map[string][]string{}
	for _, row := range routes {
		out[row.path] = slices.Sorted(maps.Keys(row.methods))
	}
	return out
}
