package httpapi

import (
	"maps"
	"slices"
)

// CaptureRoutesForTest is the table of routes that need an Intake: path to the
// methods that it answers, sorted.
func CaptureRoutesForTest() map[string][]string {
	out := map[string][]string{}
	for _, row := range (&server{}).routesOf(slices.Concat(captureEndpoints, pageEndpoints)) {
		out[row.path] = slices.Sorted(maps.Keys(row.methods))
	}
	return out
}
