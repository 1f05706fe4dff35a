package httpapi

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// propertyDefinition is a property that events have used.
type propertyDefinition struct {
	// ID is the same for ever.
	ID   capture.UUID `json:"id"`
	Name string       `json:"name"`
	// PropertyType is String, Numeric, Boolean or DateTime, as somebody has said or as it
	// was seen; null for other values.
	PropertyType *string `json:"property_type"`
	IsNumerical  bool    `json:"is_numerical"`
	// Type is whose property it is: event, person or group.
	Type string `json:"type"`
	// GroupTypeIndex is null but for groups.
	GroupTypeIndex *int             `json:"group_type_index"`
	LastSeenAt     management.Stamp `json:"last_seen_at"`
	// SeenOnEvents says whether one of the events that were asked about has it, null
	// when none was.
	SeenOnEvents *bool `json:"is_seen_on_filtered_events"`
	organizations.DefinitionDetails
}

// eventDefinition is a name that events have had. Nobody can set the members from
// Owner on.
type eventDefinition struct {
	ID         capture.UUID     `json:"id"`
	Name       string           `json:"name"`
	LastSeenAt management.Stamp `json:"last_seen_at"`
	organizations.DefinitionDetails
	LastUpdatedAt *management.Stamp `json:"last_updated_at"` // as updated_at

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

// propertyOwner is what has properties.
type propertyOwner struct {
	name    string
	kind    capture.SeenKind
	isEmpty bool // there are none of these
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
	// namesPieceSize is how many names are read at a time, maxSeenNames how many of one
	// kind are looked at.
	namesPieceSize = 2000
	maxSeenNames   = 20_000
)

// seenNames are the names of one kind.
func (rd *reader) seenNames(ctx context.Context, project int64, kind capture.SeenKind) (out []capture.SeenName, err error) {
	for offset := 0; offset < maxSeenNames; offset += namesPieceSize {
		piece, err := rd.history.SeenNames(ctx, project, kind, namesPieceSize, offset)
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

// listPropertyDefinitions answers with the properties of events, or of what type
// says, by name (§5.4).
func (rd *reader) listPropertyDefinitions(c *call) (any, error) {
	params, v := c.query(), c.listValues
	owner := owners[0]
	if text := params.Get("type"); text != "" {
		i := slices.IndexFunc(owners, func(o propertyOwner) bool { return o.name == text })
		if i < 0 {
			return nil, problemInvalidChoice.with("", "type").setDetail("%s is not a valid choice. There are: %s.", strconv.Quote(shorten(text)), ownerNames())
		}
		owner = owners[i]
	}
	q := capture.PropertyQuery{
		Search: v.Text("search"), Names: v.Texts("properties"), Numerical: v.OptionalBool("is_numerical"), Flag: v.OptionalBool("is_feature_flag"),
		Excluded: v.Texts("excluded_properties"), ExcludeCore: v.Bool("exclude_core_properties"),
	}
	var err error
	if q.Group, err = propertyGroup(params, owner.kind == capture.SeenGroupProperty); err != nil {
		return nil, err
	}
	events := v.Texts("event_names")
	if len(events) > 0 && owner.kind != capture.SeenEventProperty {
		return nil, invalid("", "`event_names` can only be set for `event` type")
	}
	var descriptions map[string]organizations.DefinitionDetails
	var names []capture.SeenName
	if !owner.isEmpty {
		if names, descriptions, err = rd.definedNames(c.ctx, c.project(), owner.kind); err != nil {
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
	return countedPage(c, showProperties(names, descriptions, &owner, used)), nil
}

// showProperties shows properties; used are those that some events have, nil where
// nobody asks.
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

// propertyGroup is the group type that properties are asked of, which groups need
// and others must not have.
func propertyGroup(params url.Values, ofGroup bool) (*int, error) {
	switch {
	case !ofGroup && params.Get("group_type_index") != "":
		return nil, invalid("", "`group_type_index` can only set for `group` type")
	case !ofGroup:
		return nil, nil
	case params.Get("group_type_index") == "":
		return nil, invalid("", "`group_type_index` must be set for `group` type")
	}
	index, err := groupTypeIndex(params)
	return &index, err
}

const (
	// maxEventNames is how many events one request may ask the properties of.
	maxEventNames = 100
	// eventScan is how many events are looked at for them, the newest of each name.
	eventScan = 10_000
)

// propertiesOf are the properties that events of some names have: those of the
// newest eventScan of them, which the answer's warnings say where there are more.
// Nil: no name is given.
func (rd *reader) propertiesOf(c *call, names []string) (map[string]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	if len(names) > maxEventNames {
		return nil, invalid("event_names", "Ensure this field has no more than %d elements.", maxEventNames)
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
			return err != nil // nothing is kept
		}
		_, more, err := rd.walkEvents(c.ctx, c.project(), capture.EventQuery{Name: name}, &eventWalk{limit: 1, maxScanned: maxScanned, match: match})
		if err != nil {
			return nil, err
		}
		if more != nil {
			warn(c.w, "event_names: only the newest "+strconv.Itoa(maxScanned)+" events of "+strconv.Quote(shorten(name))+" were looked at")
		}
	}
	return out, nil
}

// eventTypes are the values of the parameter event_type.
var eventTypes = []string{"event", "event_custom", "event_posthog"}

// listEventDefinitions answers with the names of events, by name.
func (rd *reader) listEventDefinitions(c *call) (any, error) {
	v, kind := c.listValues, c.query().Get("event_type")
	if kind != "" && !slices.Contains(eventTypes, kind) {
		return nil, invalid("event_type", "Not a valid event type. Use one of: %s", strings.Join(eventTypes, ", "))
	}
	q := capture.NameQuery{
		Search: v.Text("search"), Custom: kind == "event_custom", System: kind == "event_posthog", Names: v.Texts("names"), Order: v.Text("ordering"),
	}
	if v.Bool("exclude_stale") {
		q.Since = capture.StaleCutoff(rd.now())
	}
	names, descriptions, err := rd.definedNames(c.ctx, c.project(), capture.SeenEvent)
	if err != nil {
		return nil, err
	}
	names = filterByDescription(v, descriptions, q.Filter(names))
	list := make([]eventDefinition, len(names))
	for i := range names {
		list[i] = showEventName(&names[i], descriptions)
	}
	return countedPage(c, list), nil
}

func showEventName(s *capture.SeenName, descriptions map[string]organizations.DefinitionDetails) eventDefinition {
	id := s.DefinitionID()
	r := descriptionOf(descriptions, id)
	return eventDefinition{
		ID: id, Name: s.Name, LastSeenAt: management.Stamp{Time: s.At}, DefinitionDetails: r, LastUpdatedAt: r.Updated,
		DefaultColumns: []string{}, EnforcementMode: "allow",
	}
}
