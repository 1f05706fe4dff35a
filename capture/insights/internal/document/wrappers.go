package document

import "slices"

// MaxBytes is the maximum size of a query's JSON (§1.3).
const MaxBytes = 256 << 10

// wrappers are the kinds of queries that only define how their source is displayed (§1.3).
var wrappers = []string{"InsightVizNode", "DataTableNode", "DataVisualizationNode"}

// Unwrap returns the query inside of up to ten wrappers.
func Unwrap(n Node) Node {
	for range 10 {
		kind, _ := n.Get("kind").Value.(string)
		if !slices.Contains(wrappers, kind) {
			break
		}
		attr := n.Attr
		if n.Get("source").IsAbsent() {
			n.Get("source").Fail(Required, "This field is required.")
			return n
		}
		n = n.Get("source").Object()
		n.Attr = attr // places in errors are relative to the inner query
	}
	return n
}
