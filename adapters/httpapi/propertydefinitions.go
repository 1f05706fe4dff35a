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
	organizations.Remark
}

// eventDefinition is a name that events have had. Nobody can set the members from
// Owner on.
type eventDefinition struct {
	ID         capture.UUID     `json:"id"`
	Name       string           `json:"name"`
	LastSeenAt management.Stamp `json:"last_seen_at"`
	organizations.Remark
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
	name string
	kind capture.SeenKind
	none bool // there are none of these
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
	// seenPiece is how many names are read at a time, maxSeenNames how many of one
	// kind are looked at.
	seenPiece    = 2000
	maxSeenNames = 20_000
)

// seenNames are the names of one kind.
func (rd *reader) seenNames(ctx context.Context, project int64, kind capture.SeenKind) (out []capture.Seen, err error) {
	for offset := 0; offset < maxSeenNames; offset += seenPiece {
		piece, err := rd.history.SeenNames(ctx, project, kind, seenPiece, offset)
		if err != nil {
			return nil, err
		}
		out = append(out, piece...)
		if len(piece) < seenPiece {
			break
		}
	}
	return out, nil
}

// listPropertyDefinitions answers with the properties of events, or of what type
// says, by name (§5.4).
func (rd *reader) listPropertyDefinitions(c *call) (any, error) {
	params, v := c.query(), c.listed
	owner := owners[0]
	if text := params.Get("type"); text != "" {
		i := slices.IndexFunc(owners, func(o propertyOwner) bool { return o.name == text })
		if i < 0 {
			return nil, problemInvalidChoice.with("", "type").say("%s is not a valid choice. There are: %s.", strconv.Quote(shorten(text)), ownerNames())
		}
		owner = owners[i]
	}
	q := capture.PropertyQuery{
		Search: v.Text("search"), Names: v.Texts("properties"), Numerical: v.Either("is_numerical"), Flag: v.Either("is_feature_flag"),
		Excluded: v.Texts("excluded_properties"), NoCore: v.Bool("exclude_core_properties"),
	}
	var err error
	if q.Group, err = propertyGroup(params, owner.kind == capture.SeenGroupProperty); err != nil {
		return nil, err
	}
	events := v.Texts("event_names")
	if len(events) > 0 && owner.kind != capture.SeenEventProperty {
		return nil, invalid("", "`event_names` can only be set for `event` type")
	}
	var said map[string]organizations.Remark
	var seen []capture.Seen
	if !owner.none {
		if seen, said, err = rd.defined(c.ctx, c.project(), owner.kind); err != nil {
			return nil, err
		}
	}
	seen = remarked(v, said, q.Choose(seen))
	used, err := rd.propertiesOf(c, events)
	if err != nil {
		return nil, err
	}
	if len(events) > 0 && v.Bool("filter_by_event_names") {
		seen = slices.DeleteFunc(seen, func(s capture.Seen) bool { return !used[s.Name] })
	}
	return countedPage(c, showProperties(seen, said, &owner, used)), nil
}

// showProperties shows properties; used are those that some events have, nil where
// nobody asks.
func showProperties(seen []capture.Seen, said map[string]organizations.Remark, of *propertyOwner, used map[string]bool) []propertyDefinition {
	list := make([]propertyDefinition, len(seen))
	for i := range seen {
		list[i] = showProperty(&seen[i], said, of)
		if used != nil {
			on := used[seen[i].Name]
			list[i].SeenOnEvents = &on
		}
	}
	return list
}

func showProperty(s *capture.Seen, said map[string]organizations.Remark, of *propertyOwner) propertyDefinition {
	d := propertyDefinition{
		ID: s.DefinitionID(), Name: s.Name, IsNumerical: s.Type == "Numeric", Type: of.name, LastSeenAt: management.Stamp{Time: s.At},
	}
	d.Remark = remarkOf(said, d.ID)
	if s.Type != "" {
		d.PropertyType = &s.Type
	}
	if of.kind == capture.SeenGroupProperty {
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
	most := eventScan / len(names)
	for _, name := range names {
		looked := 0
		match := func(e *capture.Record) bool {
			looked++
			properties, err := capture.ParseObject(e.Properties)
			for i := range properties {
				out[properties[i].Key] = true
			}
			return err != nil // nothing is kept
		}
		_, more, err := rd.lookThrough(c.ctx, c.project(), capture.EventQuery{Name: name}, &look{limit: 1, most: most, match: match})
		if err != nil {
			return nil, err
		}
		if more != nil {
			warn(c.w, "event_names: only the newest "+strconv.Itoa(most)+" events of "+strconv.Quote(shorten(name))+" were looked at")
		}
	}
	return out, nil
}

// eventTypes are the values of the parameter event_type.
var eventTypes = []string{"event", "event_custom", "event_posthog"}

// listEventDefinitions answers with the names of events, by name.
func (rd *reader) listEventDefinitions(c *call) (any, error) {
	v, kind := c.listed, c.query().Get("event_type")
	if kind != "" && !slices.Contains(eventTypes, kind) {
		return nil, invalid("event_type", "Not a valid event type. Use one of: %s", strings.Join(eventTypes, ", "))
	}
	q := capture.NameQuery{
		Search: v.Text("search"), Custom: kind == "event_custom", Own: kind == "event_posthog", Names: v.Texts("names"), Order: v.Text("ordering"),
	}
	if v.Bool("exclude_stale") {
		q.Since = capture.Fresh(rd.now())
	}
	seen, said, err := rd.defined(c.ctx, c.project(), capture.SeenEvent)
	if err != nil {
		return nil, err
	}
	seen = remarked(v, said, q.Choose(seen))
	list := make([]eventDefinition, len(seen))
	for i := range seen {
		list[i] = showEventName(&seen[i], said)
	}
	return countedPage(c, list), nil
}

func showEventName(s *capture.Seen, said map[string]organizations.Remark) eventDefinition {
	id := s.DefinitionID()
	r := remarkOf(said, id)
	return eventDefinition{
		ID: id, Name: s.Name, LastSeenAt: management.Stamp{Time: s.At}, Remark: r, LastUpdatedAt: r.Updated,
		DefaultColumns: []string{}, EnforcementMode: "allow",
	}
}
