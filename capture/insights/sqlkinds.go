package insights

// sqlKinds returns the kinds of queries whose results are rows. find returns the kind with a name,
// for queries inside of other queries.
func sqlKinds(find func(name string) (kind, bool)) []kind {
	s := sources{find}
	out := []kind{
		{name: "HogQLQuery", parse: parseHogQL},
		{name: "HogQLMetadata", parse: parseMetadata},
		{name: "EventsQuery", parse: s.parseEvents},
		{name: "ActorsQuery", parse: s.parseActors},
		{name: "PersonsNode", parse: s.parsePersons},
		{name: "InsightActorsQueryOptions", parse: s.parseOptions},
	}
	for _, name := range actorsQueryKinds {
		out = append(out, kind{name: name, parse: s.parseActorsSource})
	}
	return out
}
