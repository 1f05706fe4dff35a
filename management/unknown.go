package management

import (
	"maps"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management/internal/plain"
)

// callerKeyField is the member with the caller's key, which any body may have.
const callerKeyField = "personal_api_key"

// NameUnknown returns an error if a body has a misspelt member (decision 30), and calls b.Warn for
// other unknown members and for fields without effect. what is the noun for the body in messages,
// such as "a request for a query". known are names besides those of the fields that are no error:
// members of responses, since clients send back objects that they have read.
func (f Fields) NameUnknown(b *Body, what string, known ...string) error {
	var absent []string
	for i := range f {
		name := f[i].Name
		raw, present := b.Members[name]
		switch {
		case !present:
			absent = append(absent, name)
		case strings.HasPrefix(f[i].Help, noEffect) && !EmptyJSON(raw) && b.Warn != nil:
			b.Warn(name + " of " + what + " has no effect")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Members)) {
		if slices.Contains(known, name) || name == callerKeyField || slices.ContainsFunc(f, func(field Field) bool { return field.Name == name }) {
			continue
		}
		if err := ReportUnknown("", name, absent, what, b.Warn); err != nil {
			return err
		}
	}
	return nil
}

// noEffect is the prefix of the Help of fields that are accepted and have no effect.
const noEffect = "has no effect"

// ReportUnknown handles an unknown member: it returns an error if the name is within the distance of
// flags.Nearest of one of the absent members, which is then most likely meant; otherwise it calls
// warn. what is the noun for the object.
func ReportUnknown(place, name string, absent []string, what string, warn func(string)) error {
	at := place + plain.ShortText(name)
	if suggestion := flags.Nearest(name, absent); suggestion != "" {
		return CodedFault("unknown_key", fieldPlace.Replace(place)+name, "%s is not a member of %s, %q is most likely meant", at, what, suggestion)
	}
	if warn != nil {
		warn(at + " is not a member of " + what + " and does nothing")
	}
	return nil
}

// fieldPlace converts a path such as tiles[0]. to the form of Error.Field, tiles__0__.
var fieldPlace = strings.NewReplacer(".", "__", "[", "__", "]", "")
