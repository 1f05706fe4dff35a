package history

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// propertyDefinition is a property that was found in events, with its description.
type propertyDefinition struct {
	// ID never changes.
	ID   capture.UUID `json:"id"`
	Name string       `json:"name"`
	// PropertyType is String, Numeric, Boolean or DateTime, as set by a user or detected. It is
	// null for other types.
	PropertyType *string `json:"property_type"`
	IsNumerical  bool    `json:"is_numerical"`
	// Type is the owner of the property: event, person or group.
	Type string `json:"type"`
	// GroupTypeIndex is null except for groups.
	GroupTypeIndex *int             `json:"group_type_index"`
	LastSeenAt     management.Stamp `json:"last_seen_at"`
	// SeenOnEvents reports whether one of the events in event_names has the property. It is null
	// if the request has no event_names.
	SeenOnEvents *bool `json:"is_seen_on_filtered_events"`
	organizations.DefinitionDetails
}

// eventDefinition is the name of an event, with its description. The members from Owner on have
// constant values.
type eventDefinition struct {
	ID         capture.UUID     `json:"id"`
	Name       string           `json:"name"`
	LastSeenAt management.Stamp `json:"last_seen_at"`
	organizations.DefinitionDetails
	LastUpdatedAt *management.Stamp `json:"last_updated_at"` // the same as updated_at

	Owner            *string              `json:"owner"`
	CreatedAt        *management.Stamp    `json:"created_at"`
	CreatedBy        *management.UserView `json:"created_by"`
	IsAction         bool                 `json:"is_action"`
	ActionID         *int64               `json:"action_id"`
	IsCalculating    bool                 `json:"is_calculating"`
	LastCalculatedAt *management.Stamp    `json:"last_calculated_at"`
	PostToSlack      bool                 `json:"post_to_slack"`
	DefaultColumns   []string             `json:"default_columns"`
	EnforcementMode  string               `json:"enforcement_mode"`
	PrimaryProperty  *string              `json:"primary_property"`
}

// propertyOwner is a kind of object that has properties.
type propertyOwner struct {
	name    string
	kind    capture.SeenKind
	isEmpty bool // there are no properties of this kind
}

// owners are the values of the parameter type.
var owners = []propertyOwner{
	{"event", capture.SeenEventProperty, false},
	{"person", capture.SeenPersonProperty, false},
	{"group", capture.SeenGroupProperty, false},
	{"session", 0, true},
}

func ownerNames() string {
	names := make([]string, len(owners))
	for i, o := range owners {
		names[i] = o.name
	}
	return strings.Join(names, ", ")
}

const (
	// namesPieceSize is the number of names that are read at a time; maxSeenNames is the maximum
	// number of names of one kind that are read.
	namesPieceSize = 2000
	maxSeenNames   = 20_000
)

// seenNames returns the names of one kind, at most maxSeenNames.
func (rd *Reader) seenNames(ctx context.Context, project int64, kind capture.SeenKind) (out []capture.SeenName, err error) {
	for offset := 0; offset < maxSeenNames; offset += namesPieceSize {
		piece, err := rd.History.SeenNames(ctx, project, kind, namesPieceSize, offset)
		if err != nil {
			return nil, err
		}
		out = append(out, piece...)
		if len(piece) < namesPieceSize {
			break
		}
	}
	return out, nil
}

// listPropertyDefinitions lists the properties of events, or of the objects in the parameter
// type, by name (§5.4).
func (rd *Reader) listPropertyDefinitions(c *frame.Call) (any, error) {
	params, v := c.Query(), c.ListValues
	owner := owners[0]
	if text := params.Get("type"); text != "" {
		i := slices.IndexFunc(owners, func(o propertyOwner) bool { return o.name == text })
		if i < 0 {
			return nil, problem.InvalidChoice.With("", "type").Detailed("%s is not a valid choice. Valid choices: %s.", strconv.Quote(problem.Shorten(text)), ownerNames())
		}
		owner = owners[i]
	}
	q := capture.NameQuery{
		Search: v.Text("search"), Names: v.Texts("properties"), Numerical: v.OptionalBool("is_numerical"), Flag: v.OptionalBool("is_feature_flag"),
		Excluded: v.Texts("excluded_properties"), ExcludeCore: v.Bool("exclude_core_properties"),
	}
	var err error
	if q.Group, err = propertyGroup(params, owner.kind == capture.SeenGroupProperty); err != nil {
		return nil, err
	}
	events := v.Texts("event_names")
	if len(events) > 0 && owner.kind != capture.SeenEventProperty {
		return nil, problem.Invalid("", "`event_names` can only be set for `event` type")
	}
	var descriptions map[string]organizations.DefinitionDetails
	var names []capture.SeenName
	if !owner.isEmpty {
		if names, descriptions, err = rd.definedNames(c.Ctx, c.Project(), owner.kind); err != nil {
			return nil, err
		}
	}
	names = filterByDescription(v, descriptions, q.Filter(names))
	used, err := rd.propertiesOf(c, events)
	if err != nil {
		return nil, err
	}
	if len(events) > 0 && v.Bool("filter_by_event_names") {
		names = slices.DeleteFunc(names, func(s capture.SeenName) bool { return !used[s.Name] })
	}
	return frame.CountedPage(c, showProperties(names, descriptions, &owner, used)), nil
}

// showProperties converts properties to their form in responses. used are the properties of the
// events in event_names, nil if there are no event_names.
func showProperties(names []capture.SeenName, descriptions map[string]organizations.DefinitionDetails, owner *propertyOwner, used map[string]bool) []propertyDefinition {
	list := make([]propertyDefinition, len(names))
	for i := range names {
		list[i] = showProperty(&names[i], descriptions, owner)
		if used != nil {
			on := used[names[i].Name]
			list[i].SeenOnEvents = &on
		}
	}
	return list
}

func showProperty(s *capture.SeenName, descriptions map[string]organizations.DefinitionDetails, owner *propertyOwner) propertyDefinition {
	d := propertyDefinition{
		ID: s.DefinitionID(), Name: s.Name, IsNumerical: s.Type == "Numeric", Type: owner.name, LastSeenAt: management.Stamp{Time: s.At},
	}
	d.DefinitionDetails = descriptionOf(descriptions, d.ID)
	if s.Type != "" {
		d.PropertyType = &s.Type
	}
	if owner.kind == capture.SeenGroupProperty {
		d.GroupTypeIndex = &s.Group
	}
	return d
}

// propertyGroup parses the group type index. It is required for properties of groups and an error
// otherwise.
func propertyGroup(params url.Values, ofGroup bool) (*int, error) {
	switch {
	case !ofGroup && params.Get("group_type_index") != "":
		return nil, problem.Invalid("", "`group_type_index` can only set for `group` type")
	case !ofGroup:
		return nil, nil
	case params.Get("group_type_index") == "":
		return nil, problem.Invalid("", "`group_type_index` must be set for `group` type")
	}
	index, err := groupTypeIndex(params)
	return &index, err
}

const (
	// maxEventNames is the maximum number of event names in a request.
	maxEventNames = 100
	// eventScan is the maximum number of events that are read in all, the newest ones of each
	// name.
	eventScan = 10_000
)

// propertiesOf returns the properties of events with the given names, or nil if there are no
// names. It reads the newest events, at most eventScan in all, and adds a warning to the response
// if there are more.
func (rd *Reader) propertiesOf(c *frame.Call, names []string) (map[string]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	if len(names) > maxEventNames {
		return nil, problem.Invalid("event_names", "Ensure this field has no more than %d elements.", maxEventNames)
	}
	out := map[string]bool{}
	maxScanned := eventScan / len(names)
	for _, name := range names {
		scanned := 0
		match := func(e *capture.Record) bool {
			scanned++
			properties, err := capture.ParseObject(e.Properties)
			for i := range properties {
				out[properties[i].Key] = true
			}
			return err != nil // keep no event in the result
		}
		_, more, err := rd.walkEvents(c.Ctx, c.Project(), capture.EventQuery{Name: name}, &eventWalk{limit: 1, maxScanned: maxScanned, match: match})
		if err != nil {
			return nil, err
		}
		if more != nil {
			frame.Warn(c.W, "event_names: only the newest "+strconv.Itoa(maxScanned)+" events of "+strconv.Quote(problem.Shorten(name))+" were looked at")
		}
	}
	return out, nil
}

// eventTypes are the values of the parameter event_type.
var eventTypes = []string{"event", "event_custom", "event_posthog"}

// listEventDefinitions lists the names of events, by name.
func (rd *Reader) listEventDefinitions(c *frame.Call) (any, error) {
	v, kind := c.ListValues, c.Query().Get("event_type")
	if kind != "" && !slices.Contains(eventTypes, kind) {
		return nil, problem.Invalid("event_type", "Not a valid event type. Use one of: %s", strings.Join(eventTypes, ", "))
	}
	q := capture.NameQuery{
		Search: v.Text("search"), Custom: kind == "event_custom", System: kind == "event_posthog", Names: v.Texts("names"), Order: v.Text("ordering"),
	}
	if v.Bool("exclude_stale") {
		q.ActiveAt = rd.now()
	}
	names, descriptions, err := rd.definedNames(c.Ctx, c.Project(), capture.SeenEvent)
	if err != nil {
		return nil, err
	}
	names = filterByDescription(v, descriptions, q.Filter(names))
	list := make([]eventDefinition, len(names))
	for i := range names {
		list[i] = showEventName(&names[i], descriptions)
	}
	return frame.CountedPage(c, list), nil
}

func showEventName(s *capture.SeenName, descriptions map[string]organizations.DefinitionDetails) eventDefinition {
	id := s.DefinitionID()
	r := descriptionOf(descriptions, id)
	return eventDefinition{
		ID: id, Name: s.Name, LastSeenAt: management.Stamp{Time: s.At}, DefinitionDetails: r, LastUpdatedAt: r.Updated,
		DefaultColumns: []string{}, EnforcementMode: "allow",
	}
}
