package history

import (
	"context"
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// definitionEndpoints read and change the descriptions of events and properties, which package
// organizations stores (clients.md §10).
var definitionEndpoints = slices.Concat(
	frame.Resource(frame.InHistory, "event_definition", readerOf, []frame.Row[*Reader]{
		frame.Handle(http.MethodGet, "/event_definitions/by_name", "Read an event definition", (*Reader).eventByName).WithResponse(eventDefinition{}).
			WithQuery(frame.Param("name", "string", "name of the event; required")),
		frame.Handle(http.MethodGet, "/event_definitions/{definition}", "Read an event definition", (*Reader).getEventDefinition).WithResponse(eventDefinition{}),
		frame.Handle(http.MethodPatch, "/event_definitions/{definition}", "Change an event definition", (*Reader).describeEvent).
			WithBody(organizations.Bodies.EventName).WithResponse(eventDefinition{}).WithPut("Change an event definition"),
		frame.Handle(http.MethodDelete, "/event_definitions/{definition}", "Delete an event definition until the event is captured again", (*Reader).forgetEvent).
			WithStatus(http.StatusNoContent),
	}),
	frame.Resource(frame.InHistory, "property_definition", readerOf, []frame.Row[*Reader]{
		frame.Handle(http.MethodGet, "/property_definitions/{definition}", "Read a property definition", (*Reader).getPropertyDefinition).WithResponse(propertyDefinition{}),
		frame.Handle(http.MethodPatch, "/property_definitions/{definition}", "Change a property definition", (*Reader).describeProperty).
			WithBody(organizations.Bodies.PropertyName).WithResponse(propertyDefinition{}).WithPut("Change a property definition"),
		frame.Handle(http.MethodDelete, "/property_definitions/{definition}", "Delete a property definition until the property is captured again", (*Reader).forgetProperty).
			WithStatus(http.StatusNoContent),
	}),
)

// vocabularyOf returns the vocabulary that stores the descriptions of a kind of names.
func (rd *Reader) vocabularyOf(kind capture.SeenKind) organizations.Vocabulary {
	if kind == capture.SeenEvent {
		return rd.management.Organizations.EventNames
	}
	return rd.management.Organizations.PropertyNames
}

// definedNames returns the visible names of one kind, and their descriptions by definition ID. A
// type that users have set replaces the type that was detected.
func (rd *Reader) definedNames(ctx context.Context, project int64, kind capture.SeenKind) ([]capture.SeenName, map[string]organizations.DefinitionDetails, error) {
	names, err := rd.seenNames(ctx, project, kind)
	if err != nil || rd.management == nil || rd.management.Organizations == nil {
		return names, nil, err
	}
	descriptions, err := rd.vocabularyOf(kind).Details(ctx, project)
	if err != nil || len(descriptions) == 0 {
		return names, nil, err
	}
	names = slices.DeleteFunc(names, func(s capture.SeenName) bool {
		r, there := descriptions[s.DefinitionID().String()]
		return there && r.IsForgotten(s.At)
	})
	for i := range names {
		if r := descriptions[names[i].DefinitionID().String()]; r.PropertyType != nil {
			names[i].Type = *r.PropertyType
		}
	}
	return names, descriptions, nil
}

// descriptionOf returns the description of a definition, with non-nil tags.
func descriptionOf(descriptions map[string]organizations.DefinitionDetails, id capture.UUID) organizations.DefinitionDetails {
	r := descriptions[id.String()]
	r.Tags = management.NonNilStrings(r.Tags)
	return r
}

// filterByDescription removes the names whose descriptions do not match the parameters of a list.
func filterByDescription(v management.Values, descriptions map[string]organizations.DefinitionDetails, names []capture.SeenName) []capture.SeenName {
	verified, excludeHidden, tags := v.OptionalBool("verified"), v.Bool("exclude_hidden"), v.Texts("tags")
	return slices.DeleteFunc(names, func(s capture.SeenName) bool {
		r := descriptions[s.DefinitionID().String()]
		return verified != nil && *verified != r.Verified || excludeHidden && r.Hidden ||
			v.Has("tags") && !slices.ContainsFunc(tags, func(tag string) bool { return slices.Contains(r.Tags, tag) })
	})
}

// definition is the name that a path identifies, with its owner.
type definition struct {
	name         capture.SeenName
	owner        *propertyOwner
	descriptions map[string]organizations.DefinitionDetails
}

func (d *definition) definedName() organizations.DefinedName {
	return organizations.DefinedName{ID: d.name.DefinitionID().String(), Name: d.name.Name, SeenAt: d.name.At}
}

// eventNames is the owner of event names.
var eventNames = []propertyOwner{{"", capture.SeenEvent, false}}

// find returns the first name of the given kinds for which is returns true, or a not found error.
func (rd *Reader) find(c *frame.Call, kinds []propertyOwner, is func(s *capture.SeenName) bool) (*definition, error) {
	for i := range kinds {
		if kinds[i].isEmpty {
			continue
		}
		names, descriptions, err := rd.definedNames(c.Ctx, c.Project(), kinds[i].kind)
		if err != nil {
			return nil, err
		}
		if index := slices.IndexFunc(names, func(s capture.SeenName) bool { return is(&s) }); index >= 0 {
			return &definition{names[index], &kinds[i], descriptions}, nil
		}
	}
	return nil, management.ErrNotFound()
}

// definitionInPath returns the definition that the path identifies, or a not found error.
func (rd *Reader) definitionInPath(c *frame.Call, kinds []propertyOwner) (*definition, error) {
	id, ok := management.NormalizeUUID(c.Part("definition"))
	if !ok {
		return nil, management.ErrNotFound()
	}
	return rd.find(c, kinds, func(s *capture.SeenName) bool { return s.DefinitionID().String() == id })
}

// describe applies the request body to the description of the definition in the path.
func (rd *Reader) describe(c *frame.Call, kinds []propertyOwner) (*definition, error) {
	d, err := rd.definitionInPath(c, kinds)
	if err != nil {
		return nil, err
	}
	if err := rd.vocabularyOf(d.name.Kind).Describe(c.Ctx, c.Scope, d.definedName(), c.Body); err != nil {
		return nil, err
	}
	return rd.definitionInPath(c, kinds)
}

// forget hides the definition in the path until its name is captured in a later event.
func (rd *Reader) forget(c *frame.Call, kinds []propertyOwner) (any, error) {
	d, err := rd.definitionInPath(c, kinds)
	if err != nil {
		return nil, err
	}
	return nil, rd.vocabularyOf(d.name.Kind).Forget(c.Ctx, c.Scope, d.definedName())
}

func showEventDefinition(d *definition, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return showEventName(&d.name, d.descriptions), nil
}

func showPropertyDefinition(d *definition, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return showProperty(&d.name, d.descriptions, d.owner), nil
}

func (rd *Reader) eventByName(c *frame.Call) (any, error) {
	name := c.Query().Get("name")
	if name == "" {
		return nil, problem.Required.With("", "name")
	}
	return showEventDefinition(rd.find(c, eventNames, func(s *capture.SeenName) bool { return s.Name == name }))
}

func (rd *Reader) getEventDefinition(c *frame.Call) (any, error) {
	return showEventDefinition(rd.definitionInPath(c, eventNames))
}
func (rd *Reader) describeEvent(c *frame.Call) (any, error) {
	return showEventDefinition(rd.describe(c, eventNames))
}
func (rd *Reader) forgetEvent(c *frame.Call) (any, error) { return rd.forget(c, eventNames) }

func (rd *Reader) getPropertyDefinition(c *frame.Call) (any, error) {
	return showPropertyDefinition(rd.definitionInPath(c, owners))
}
func (rd *Reader) describeProperty(c *frame.Call) (any, error) {
	return showPropertyDefinition(rd.describe(c, owners))
}
func (rd *Reader) forgetProperty(c *frame.Call) (any, error) { return rd.forget(c, owners) }
