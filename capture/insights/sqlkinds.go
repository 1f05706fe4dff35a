package insights

// sqlKinds returns the kinds of queries whose results are rows. find returns the kind with a name,
// for queries inside of other queries.
func sqlKinds(find func(name string) (kind, bool)) []kind {
	s := sources{find}
	out := []kind{
		{Name: "HogQLQuery", Parse: parseHogQL},
		{Name: "HogQLMetadata", Parse: parseMetadata},
		{Name: "EventsQuery", Parse: s.parseEvents},
		{Name: "ActorsQuery", Parse: s.parseActors},
		{Name: "PersonsNode", Parse: s.parsePersons},
		{Name: "InsightActorsQueryOptions", Parse: s.parseOptions},
	}
	for _, name := range actorsQueryKinds {
		out = append(out, kind{Name: name, Parse: s.parseActorsSource})
	}
	return out
}
