package httpapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// definitionEndpoints say what people say of names, which organizations keeps (clients.md
// §10).
var definitionEndpoints = slices.Concat(
	resource(inHistory, "event_definition", readerOf, []row[*reader]{
		by(http.MethodGet, "/event_definitions/by_name", "Read the name of an event", (*reader).eventByName).giving(eventDefinition{}).
			asking(parameterDoc{"name", "string", "the name of the event; required"}),
		by(http.MethodGet, "/event_definitions/{definition}", "Read the name of an event", (*reader).getEventDefinition).giving(eventDefinition{}),
		by(http.MethodPatch, "/event_definitions/{definition}", "Say what the name of an event means", (*reader).describeEvent).
			taking(organizations.EventNames.Fields).giving(eventDefinition{}).orPut("Say what the name of an event means"),
		by(http.MethodDelete, "/event_definitions/{definition}", "Take the name of an event off the list until it is seen again", (*reader).forgetEvent).
			answering(http.StatusNoContent),
	}),
	resource(inHistory, "property_definition", readerOf, []row[*reader]{
		by(http.MethodGet, "/property_definitions/{definition}", "Read a property", (*reader).getPropertyDefinition).giving(propertyDefinition{}),
		by(http.MethodPatch, "/property_definitions/{definition}", "Say what a property means", (*reader).describeProperty).
			taking(organizations.PropertyNames.Fields).giving(propertyDefinition{}).orPut("Say what a property means"),
		by(http.MethodDelete, "/property_definitions/{definition}", "Take a property off the list until it is seen again", (*reader).forgetProperty).
			answering(http.StatusNoContent),
	}),
)

// vocabularyOf is where names of a kind are described.
func vocabularyOf(kind capture.SeenKind) *organizations.Vocabulary {
	if kind == capture.SeenEvent {
		return &organizations.EventNames
	}
	return &organizations.PropertyNames
}

// defined are the names of one kind that are on the list, of the types that people say
// they have, and what is said of them.
func (rd *reader) defined(ctx context.Context, project int64, kind capture.SeenKind) ([]capture.Seen, map[string]organizations.Remark, error) {
	seen, err := rd.seenNames(ctx, project, kind)
	if err != nil || rd.management == nil || rd.management.Organizations == nil {
		return seen, nil, err
	}
	said, err := rd.management.Organizations.Remarks(ctx, project, vocabularyOf(kind))
	if err != nil || len(said) == 0 {
		return seen, nil, err
	}
	seen = slices.DeleteFunc(seen, func(s capture.Seen) bool {
		r, there := said[s.DefinitionID().String()]
		return there && r.Gone(s.At)
	})
	for i := range seen {
		if r := said[seen[i].DefinitionID().String()]; r.PropertyType != nil {
			seen[i].Type = *r.PropertyType
		}
	}
	return seen, said, nil
}

// remarkOf is what is said of a definition.
func remarkOf(said map[string]organizations.Remark, id capture.UUID) organizations.Remark {
	r := said[id.String()]
	r.Tags = management.Texts(r.Tags)
	return r
}

// remarked chooses by what is said, as the parameters of a list ask.
func remarked(v management.Values, said map[string]organizations.Remark, seen []capture.Seen) []capture.Seen {
	verified, shown, tags := v.Either("verified"), v.Bool("exclude_hidden"), v.Texts("tags")
	return slices.DeleteFunc(seen, func(s capture.Seen) bool {
		r := said[s.DefinitionID().String()]
		return !management.Is(verified, r.Verified) || shown && r.Hidden ||
			v.Has("tags") && !slices.ContainsFunc(tags, func(tag string) bool { return slices.Contains(r.Tags, tag) })
	})
}

// definition is a name that a path means, with whose it is.
type definition struct {
	seen  capture.Seen
	owner *propertyOwner
	said  map[string]organizations.Remark
}

func (d *definition) defined() organizations.Defined {
	return organizations.Defined{ID: d.seen.DefinitionID().String(), Name: d.seen.Name, Seen: d.seen.At}
}

// eventNames is the owner of names of events.
var eventNames = []propertyOwner{{"", capture.SeenEvent, false}}

// find finds the first name of some kinds.
func (rd *reader) find(c *call, of []propertyOwner, is func(s *capture.Seen) bool) (*definition, error) {
	for i := range of {
		if of[i].none {
			continue
		}
		seen, said, err := rd.defined(c.ctx, c.project(), of[i].kind)
		if err != nil {
			return nil, err
		}
		if at := slices.IndexFunc(seen, func(s capture.Seen) bool { return is(&s) }); at >= 0 {
			return &definition{seen[at], &of[i], said}, nil
		}
	}
	return nil, management.ErrNotFound()
}

// inPath finds what the path names.
func (rd *reader) inPath(c *call, of []propertyOwner) (*definition, error) {
	id, ok := management.NormalUUID(c.part("definition"))
	if !ok {
		return nil, management.ErrNotFound()
	}
	return rd.find(c, of, func(s *capture.Seen) bool { return s.DefinitionID().String() == id })
}

// describe lays a body over what is said of a definition.
func (rd *reader) describe(c *call, of []propertyOwner) (*definition, error) {
	d, err := rd.inPath(c, of)
	if err != nil {
		return nil, err
	}
	if err := rd.management.Organizations.Describe(c.ctx, c.standing, vocabularyOf(d.seen.Kind), d.defined(), c.body); err != nil {
		return nil, err
	}
	return rd.inPath(c, of)
}

func (rd *reader) forget(c *call, of []propertyOwner) (any, error) {
	d, err := rd.inPath(c, of)
	if err != nil {
		return nil, err
	}
	return nil, rd.management.Organizations.Forget(c.ctx, c.standing, vocabularyOf(d.seen.Kind), d.defined())
}

func shownEvent(d *definition, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return showEventName(&d.seen, d.said), nil
}

func shownProperty(d *definition, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return showProperty(&d.seen, d.said, d.owner), nil
}

func (rd *reader) eventByName(c *call) (any, error) {
	name := c.query().Get("name")
	if name == "" {
		return nil, problemRequired.with("", "name")
	}
	return shownEvent(rd.find(c, eventNames, func(s *capture.Seen) bool { return s.Name == name }))
}

func (rd *reader) getEventDefinition(c *call) (any, error) {
	return shownEvent(rd.inPath(c, eventNames))
}
func (rd *reader) describeEvent(c *call) (any, error) { return shownEvent(rd.describe(c, eventNames)) }
func (rd *reader) forgetEvent(c *call) (any, error)   { return rd.forget(c, eventNames) }

func (rd *reader) getPropertyDefinition(c *call) (any, error) {
	return shownProperty(rd.inPath(c, owners))
}
func (rd *reader) describeProperty(c *call) (any, error) {
	return shownProperty(rd.describe(c, owners))
}
func (rd *reader) forgetProperty(c *call) (any, error) { return rd.forget(c, owners) }
