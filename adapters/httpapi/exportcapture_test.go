package httpapi

import (
	"maps"
	"slices"
)

// CaptureRoutesForTest returns the table of routes that need an Intake: each path with its methods,
// sorted.
func CaptureRoutesForTest() map[string][]string {
	out := map[string][]string{}
	h := emptyHandler()
	for _, row := range h.server.RoutesOf(slices.Concat(h.intake.Endpoints(), h.intake.PageEndpoints())) {
		out[row.Path] = slices.Sorted(maps.Keys(row.Methods))
	}
	return out
}
