package resource

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// Shape describes the members of a JSON object inside a request body, in order to find misspelt
// members (decision 30).
type Shape struct {
	// Name is the noun for such an object in messages, such as "a question". If empty, the names of
	// its own members are not checked.
	Name string
	// Members are the names of the members, separated by spaces. ReadOnly are members that only
	// responses have, and Idle are members that are accepted and have no effect.
	Members, ReadOnly, Idle string
	// Inside are the shapes of members that are objects or lists of objects.
	Inside map[string]*Shape
	// Each is the shape of all members that are not in Inside.
	Each *Shape
}

// Check returns an error if an object, an object of a list, or an object inside of them has a
// misspelt member. It calls warn, unless that is nil, for other unknown members and for members
// without effect. place is the path of the value for messages, such as tiles[0].layouts. Values
// that are not objects or lists pass. A nil Shape accepts everything.
func (s *Shape) Check(place string, raw json.RawMessage, warn func(string)) error {
	if s == nil {
		return nil
	}
	if management.JSONKind(raw) != "list" {
		return s.object(place, management.JSONObject(raw), warn)
	}
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // if this fails, the field's reader reports it
	for i := range list {
		if err := s.object(fmt.Sprintf("%s[%d]", place, i), management.JSONObject(list[i]), warn); err != nil {
			return err
		}
	}
	return nil
}

// Body is like Check for the members of a body.
func (s *Shape) Body(b *management.Body) error { return s.object("", b.Members, b.Warn) }

// object checks the members of one object, and then their values.
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

// names checks the names of the members of one object.
func (s *Shape) names(names []string, place string, warn func(string)) error {
	members, readOnly, idle := strings.Fields(s.Members), strings.Fields(s.ReadOnly), strings.Fields(s.Idle)
	absent := slices.DeleteFunc(slices.Clone(members), func(name string) bool { return slices.Contains(names, name) })
	for _, name := range names {
		switch {
		case slices.Contains(members, name) || slices.Contains(readOnly, name):
		case !slices.Contains(idle, name):
			if err := management.ReportUnknown(place, name, absent, s.Name, warn); err != nil {
				return err
			}
		case warn != nil:
			warn(place + name + " of " + s.Name + " has no effect")
		}
	}
	return nil
}
