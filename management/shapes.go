package management

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// Shape is what is known of the members of a JSON object that stands in a body, to find
// those that are misspelt (decision 30).
type Shape struct {
	// Name is what such an object is called, such as "a question". Empty: its own members
	// are looked at elsewhere, or their names are free.
	Name string
	// Members are names of members, with blanks between them; ReadOnly are those that are
	// only shown, and Idle those that have no effect.
	Members, ReadOnly, Idle string
	// Inside are the shapes of members that are objects, or lists of objects.
	Inside map[string]*Shape
	// Each is the shape of the members that are not in Inside.
	Each *Shape
}

// Check refuses a misspelt member of an object, of the objects of a list, and of what is
// inside of them, and tells warn of others that nobody knows or that have no effect. place
// is where it stands, such as tiles[0].layouts. Values of other kinds have no members.
func (s *Shape) Check(place string, raw json.RawMessage, warn func(string)) error {
	if s == nil {
		return nil
	}
	if JSONKind(raw) != "list" {
		return s.object(place, JSONObject(raw), warn)
	}
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // a list, or what its field refuses
	for i := range list {
		if err := s.object(fmt.Sprintf("%s[%d]", place, i), JSONObject(list[i]), warn); err != nil {
			return err
		}
	}
	return nil
}

// Body is Check for the members of a body.
func (s *Shape) Body(b *Body) error { return s.object("", b.Members, b.Warn) }

func (s *Shape) object(place string, members map[string]json.RawMessage, warn func(string)) error {
	if place != "" {
		place += "."
	}
	names := slices.Sorted(maps.Keys(members))
	if s.Name != "" {
		if err := s.names(names, place, warn); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := cmp.Or(s.Inside[name], s.Each).Check(place+name, members[name], warn); err != nil {
			return err
		}
	}
	return nil
}

func (s *Shape) names(names []string, place string, warn func(string)) error {
	known, shown, idle := strings.Fields(s.Members), strings.Fields(s.ReadOnly), strings.Fields(s.Idle)
	absent := slices.DeleteFunc(slices.Clone(known), func(name string) bool { return slices.Contains(names, name) })
	for _, name := range names {
		switch {
		case slices.Contains(known, name) || slices.Contains(shown, name):
		case !slices.Contains(idle, name):
			if err := stranger(place, name, absent, s.Name, warn); err != nil {
				return err
			}
		case warn != nil:
			warn(place + name + " of " + s.Name + " has no effect")
		}
	}
	return nil
}

// stranger refuses a member that nobody knows if it is most likely meant to be one of
// those that are absent, else tells of it; what is such an object.
func stranger(place, name string, absent []string, what string, warn func(string)) error {
	at := place + ShortText(name)
	if meant := flags.Nearest(name, absent); meant != "" {
		return CodedFault("unknown_key", fieldPlace.Replace(place)+name, "%s is not a member of %s, %q is most likely meant", at, what, meant)
	}
	if warn != nil {
		warn(at + " is not a member of " + what + " and does nothing")
	}
	return nil
}

// fieldPlace turns a place such as tiles[0]. into that of an error's field, tiles__0__.
var fieldPlace = strings.NewReplacer(".", "__", "[", "__", "]", "")
