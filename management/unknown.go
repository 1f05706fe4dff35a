package management

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// callersKey may stand in any body: a caller's key.
const callersKey = "personal_api_key"

// naming is the Spec's Body, and before it what Named asks for.
func (s Spec[T, Stored, Shown]) naming() func(b *Body) error {
	look := s.Body
	if s.Named == "" {
		return look
	}
	shown, fields := membersOf(reflect.TypeFor[Shown]()), slices.Concat(s.Fields, s.Changes)
	return func(b *Body) error {
		if err := fields.nameUnknown(b, shown, s.Named); err != nil {
			return err
		}
		return does(look, b)
	}
}

// NameUnknown refuses a misspelt member of a body that these are the fields of (decision
// 30), and tells its Warn of others that nobody knows or that have no effect; what says
// what the body is, such as "a request for a query".
func (f Fields) NameUnknown(b *Body, what string) error { return f.nameUnknown(b, nil, what) }

// nameUnknown refuses a misspelt member of a body (decision 30), and names in warnings
// those that nobody knows and those that have no effect. shown are the members of what is
// answered, which may come back as they are; what is "an insight" or the like.
func (f Fields) nameUnknown(b *Body, shown map[string][]int, what string) error {
	var absent []string
	for i := range f {
		name := f[i].Name
		raw, there := b.Members[name]
		switch {
		case !there:
			absent = append(absent, name)
		case strings.HasPrefix(f[i].Help, noEffect) && !EmptyJSON(raw) && b.Warn != nil:
			b.Warn(name + " of " + what + " has no effect")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Members)) {
		if _, back := shown[name]; back || name == callersKey || slices.ContainsFunc(f, func(field Field) bool { return field.Name == name }) {
			continue
		}
		if err := stranger("", name, absent, what, b.Warn); err != nil {
			return err
		}
	}
	return nil
}

// noEffect begins the help of fields that are taken and do nothing.
const noEffect = "has no effect"
