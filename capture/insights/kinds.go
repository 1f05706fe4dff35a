package insights

import "slices"

// kinds are all kinds of queries that are supported (§2.1). To add a kind, add it to the table of
// its subject. The table is set in init because queries inside of other queries are found in it.
var kinds []kind

func init() {
	kinds = slices.Concat(trendsKinds, lifecycleKinds, funnelKinds, retentionKinds, trialKinds, statsKinds, sqlKinds(findKind))
}

// Kinds returns the names of the supported kinds, sorted.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Name
	}
	slices.Sort(names)
	return names
}

// findKind returns the kind with a name.
func findKind(name string) (kind, bool) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.Name == name })
	if i < 0 {
		return kind{}, false
	}
	return kinds[i], true
}
