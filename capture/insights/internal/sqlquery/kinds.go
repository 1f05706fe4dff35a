package sqlquery

import "github.com/bunting-flags/bunting/capture/insights/internal/scan"

// Kinds returns the kinds of queries whose results are rows. find returns the kind with a name,
// for queries inside of other queries.
func Kinds(find func(name string) (scan.Kind, bool)) []scan.Kind {
	s := Sources{find}
	out := []scan.Kind{
		{Name: "HogQLQuery", Parse: parseHogQL},
		{Name: "HogQLMetadata", Parse: parseMetadata},
		{Name: "EventsQuery", Parse: s.parseEvents},
		{Name: "ActorsQuery", Parse: s.parseActors},
		{Name: "PersonsNode", Parse: s.parsePersons},
		{Name: "InsightActorsQueryOptions", Parse: s.parseOptions},
	}
	for _, name := range ActorsKinds {
		out = append(out, scan.Kind{Name: name, Parse: s.parseActorsSource})
	}
	return out
}
