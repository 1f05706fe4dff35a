package management

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// callerKeyField may stand in any body: a caller's key.
const callerKeyField = "personal_api_key"

// bodyCheck is the Spec's Body, and before it what Named asks for.
func (s Spec[T, Stored, Out]) bodyCheck() func(b *Body) error {
	check := s.Body
	if s.ObjectName == "" {
		return check
	}
	viewMembers, fields := membersOf(reflect.TypeFor[Out]()), slices.Concat(s.Fields, s.Changes)
	return func(b *Body) error {
		if err := fields.checkUnknown(b, viewMembers, s.ObjectName); err != nil {
			return err
		}
		return runRule(check, b)
	}
}

// NameUnknown refuses a misspelt member of a body that these are the fields of (decision
// 30), and tells its Warn of others that nobody knows or that have no effect; what says
// what the body is, such as "a request for a query".
func (f Fields) NameUnknown(b *Body, what string) error { return f.checkUnknown(b, nil, what) }

// checkUnknown refuses a misspelt member of a body (decision 30), and names in warnings
// those that nobody knows and those that have no effect. shown are the members of what is
// answered, which may come back as they are; what is "an insight" or the like.
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
		if err := stranger("", name, absent, object, b.Warn); err != nil {
			return err
		}
	}
	return nil
}

// noEffect begins the help of fields that are taken and do nothing.
const noEffect = "has no effect"
