package management

import (
	"maps"
	"slices"
	"strings"
)

// callerKeyField is the member with the caller's key, which any body may have.
const callerKeyField = "personal_api_key"

// NameUnknown returns an error if a body has a misspelt member (decision 30), and calls b.Warn for
// other unknown members and for fields without effect. what is the noun for the body in messages,
// such as "a request for a query".
func (f Fields) NameUnknown(b *Body, what string) error { return f.checkUnknown(b, nil, what) }

// checkUnknown is NameUnknown that also accepts the members of responses, viewMembers, since
// clients send back objects that they have read. object is the noun for the body.
func (f Fields) checkUnknown(b *Body, viewMembers map[string][]int, object string) error {
	var absent []string
	for i := range f {
		name := f[i].Name
		raw, present := b.Members[name]
		switch {
		case !present:
			absent = append(absent, name)
		case strings.HasPrefix(f[i].Help, noEffect) && !EmptyJSON(raw) && b.Warn != nil:
			b.Warn(name + " of " + object + " has no effect")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Members)) {
		if _, isView := viewMembers[name]; isView || name == callerKeyField || slices.ContainsFunc(f, func(field Field) bool { return field.Name == name }) {
			continue
		}
		if err := reportUnknown("", name, absent, object, b.Warn); err != nil {
			return err
		}
	}
	return nil
}

// noEffect is the prefix of the Help of fields that are accepted and have no effect.
const noEffect = "has no effect"
