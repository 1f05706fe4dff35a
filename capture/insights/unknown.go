package insights

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/insights/internal/breakdown"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/sqlquery"
	"github.com/bunting-flags/bunting/capture/insights/internal/trials"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// parts are the documents that [UnknownMembers] can check: the name of their objects in errors, and
// the parser.
var parts = map[string]struct {
	what string
	read func(n document.Node, p *port.Project)
}{
	"query":     {document.AQuery, readQuery},
	"override":  {"filters that are laid over queries", readOverride},
	"variables": {"a variable", readVariables},
	"filters":   {document.AFilters, func(n document.Node, _ *port.Project) { older(n) }},
	"metric":    {"a metric's object", readMetricPart},
	"exposure_criteria": {"exposure criteria", func(n document.Node, p *port.Project) {
		trials.ReadCriteria(n, trials.Trial{Experiment: &experiments.Experiment{}}, p)
	}},
	"stats_config": {"a stats_config", readStatsPart},
}

// UnknownMembers finds members of a JSON document that no parser reads. If one is misspelled, it
// returns an *[port.Error] about it; otherwise it returns a line for each ignored member, at most 10.
// part is the type of the document:
//
//   - query: a whole query
//   - override: dates and filters that replace those of queries: of a request, a dashboard or a tile
//   - variables: variables of HogQL by their ids
//   - filters: an insight's filters, the older form of a query
//   - metric: a metric of an experiment
//   - exposure_criteria, stats_config: members of an experiment
//
// Places in errors begin with place, such as query or metrics__0. Other faults of the document are
// ignored. A document that is not an object, or that is larger than a query may be, has no unknown
// members.
func UnknownMembers(part string, source []byte, place string, p *port.Project) ([]string, error) {
	if len(source) > document.MaxBytes {
		return nil, nil
	}
	n, _ := document.Decode(source, place)
	if text, ok := n.Value.(string); ok { // a JSON text of such an object
		n.Value = wire.Value([]byte(text))
	}
	if _, object := n.Value.(map[string]any); !object {
		return nil, nil
	}
	parser, ok := parts[part]
	if !ok {
		return nil, fmt.Errorf("insights: nothing is known of the members of %q", part)
	}
	if n.Tracker.What = parser.what; part == "filters" {
		n.Tracker.Known = document.OlderMembers
	}
	parser.read(n, p)
	if fault := n.Tracker.FindMisspelled(); fault != nil {
		return nil, fault
	}
	return n.Tracker.ListIgnored(), nil
}

// readQuery parses a query with any wrappers. Nothing is reported about kinds that are not
// supported.
func readQuery(n document.Node, p *port.Project) {
	n = document.Unwrap(n)
	kind, ok := findKind(fmt.Sprint(n.Get("kind").Value))
	if !ok {
		n.Tracker.Objects = nil // the members of this kind are unknown
		return
	}
	kind.Parse(n, p)
	n.Get("modifiers").Object().Get("personsOnEventsMode")
}

// readOverride reads the members that overrides can have (§1.9).
func readOverride(n document.Node, p *port.Project) {
	for _, name := range []string{"date_from", "date_to", "explicitDate", "interval", "filterTestAccounts"} {
		n.Get(name)
	}
	filter.Read(n.Get("properties"), p)
	breakdown.Read(n.Get("breakdown_filter").Object(), p, document.Node{Fault: n.Fault})
}

// readVariables reads the variables of HogQL, which are members by id.
func readVariables(n document.Node, _ *port.Project) {
	all, _ := n.Value.(map[string]any)
	for _, id := range slices.Sorted(maps.Keys(all)) {
		sqlquery.ReadVariable(n.Get(id))
	}
}

// readMetricPart reads a metric with the members that only its query reads.
func readMetricPart(n document.Node, p *port.Project) {
	trials.ReadMetric(n, p)
	trials.ReadDecrease(n)
	trials.ReadMetricBreakdown(n, p)
}

// readStatsPart reads the members of both statistical methods, of which stats reads only those of
// the selected method.
func readStatsPart(n document.Node, _ *port.Project) {
	for _, names := range [][]string{
		{"bayesian", "ci_level", "difference_type"},
		{"frequentist", "alpha", "difference_type", "sequential_testing_enabled", "sequential_tuning_parameter"},
		{"cuped", "enabled", "lookback_days"},
	} {
		for _, member := range names[1:] {
			n.Get(names[0]).Get(member)
		}
	}
	n.Get("multiple_testing")
	trials.ReadTest(n)
}
