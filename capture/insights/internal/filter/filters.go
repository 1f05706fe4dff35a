package filter

import (
	"slices"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Read parses a list or a tree of property filters (§3.2.1).
func Read(n document.Node, p *port.Project) AllOf {
	f := filterReader{project: p}
	if _, list := n.Value.([]any); list {
		return f.each(n, -1) // the list itself does not count as a level
	}
	return AllOf{f.read(n, 0)}
}

// filterReader parses a tree of filters and counts them.
type filterReader struct {
	project *port.Project
	count   int
}

// read parses a filter, a list, or a group of filters. Groups are objects with "values"; a list is
// an AND.
func (f *filterReader) read(n document.Node, depth int) Condition {
	switch v := n.Value.(type) {
	case nil:
		return AllOf{}
	case []any:
		return AllOf(f.each(n, depth))
	case map[string]any:
		// An object with values is a group.
		if _, tree := v["values"]; !tree {
			return f.leaf(n)
		}
		switch n.Get("type").Choice("AND", "AND", "OR") {
		case "OR":
			return anyOf(f.each(n.Get("values"), depth))
		default:
			return AllOf(f.each(n.Get("values"), depth))
		}
	}
	n.Fail(document.InvalidInput, "Expected a list of filters or a group of them, not %s.", document.Describe(n.Value))
	return AllOf{}
}

// each parses the elements of a list or group at a depth.
func (f *filterReader) each(n document.Node, depth int) []Condition {
	if depth >= maxDepth {
		n.Fail(document.TooLarge, "Groups of filters may be nested at most %d levels deep.", maxDepth)
		return nil
	}
	var out []Condition
	for _, n := range n.List(MaxFilters) {
		out = append(out, f.read(n, depth+1))
	}
	return out
}

// leaf parses one filter. An empty object is a filter that is always true.
func (f *filterReader) leaf(n document.Node) Condition {
	// The limit applies to the whole tree.
	if f.count++; f.count > MaxFilters {
		n.Fail(document.TooLarge, "A query may have at most %d filters.", MaxFilters)
	}
	if m, _ := n.Value.(map[string]any); len(m) == 0 {
		return AllOf{}
	}
	name := n.Get("type").Text("event")
	// A filter of type empty is always true.
	if name == "empty" || n.HasFailed() {
		return AllOf{}
	}
	newCondition, ok := filterTypes[name]
	if !ok {
		n.Get("type").Fail(document.NotSupported, "Filters of type %q are not supported in queries.", wire.Shorten(name, 100))
		return AllOf{}
	}
	return newCondition(n, f.project)
}

// filterTypes are the parsers of filters by type. Add new types here.
var filterTypes map[string]func(n document.Node, p *port.Project) Condition

func init() {
	filterTypes = map[string]func(n document.Node, p *port.Project) Condition{
		"event": eventFilter, "feature": eventFilter, "person": personFilter, "group": groupFilter,
		"cohort": cohortFilter, "static-cohort": cohortFilter, "precalculated-cohort": cohortFilter,
		"session": sessionFilter, "element": elementFilter, "event_metadata": columnFilter, "hogql": hogqlFilter,
	}
}

// ReadTestAccounts returns the project's filters that exclude its own team, if the query requests them
// with filterTestAccounts.
func ReadTestAccounts(n document.Node, p *port.Project) Condition {
	if !n.Get("filterTestAccounts").Boolean() || len(p.TestAccountFilters) == 0 {
		return AllOf{}
	}
	own := document.Node{Value: wire.Value(p.TestAccountFilters), Attr: "query__filterTestAccounts", Fault: n.Fault}
	return Read(own, p)
}

// ReadAll returns the conditions that apply to all series of a query.
func ReadAll(n document.Node, p *port.Project) AllOf {
	return slices.Concat(Read(n.Get("properties"), p), AllOf{ReadTestAccounts(n, p)})
}
