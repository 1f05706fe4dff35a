package httpapi

import (
	"maps"
	"slices"
)

// CaptureRoutesForTest returns the table of routes that need an Intake: each path with its methods,
// sorted.
func CaptureRoutesForTest() map[string][]string {
	out := map[string][]string{}
	for _, row := range (&server{}).routesOf(slices.Concat(captureEndpoints, pageEndpoints)) {
		out[row.path] = slices.Sorted(maps.Keys(row.methods))
	}
	return out
}
