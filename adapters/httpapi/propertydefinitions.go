package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/capture"
)

// propertyDefinition is a property that events have used.
type propertyDefinition struct {
	Name string `json:"name"`
	// PropertyType is String, Numeric, Boolean or DateTime, null for other values.
	PropertyType *string `json:"property_type"`
	IsNumerical  bool    `json:"is_numerical"`
	// Type is whose property it is: event, person or group.
	Type string `json:"type"`
	// GroupTypeIndex is null but for groups.
	GroupTypeIndex *int  `json:"group_type_index"`
	LastSeenAt     stamp `json:"last_seen_at"`
}

type eventDefinition struct {
	Name       string `json:"name"`
	LastSeenAt stamp  `json:"last_seen_at"`
}

// owners are the values of the parameter type.
var owners = []struct {
	name string
	kind capture.SeenKind
}{
	{"event", capture.SeenEventProperty},
	{"person", capture.SeenPersonProperty},
	{"group", capture.SeenGroupProperty},
}

const (
	// seenPiece is how many names are read at a time, maxSeenNames how many of one
	// kind are looked at.
	seenPiece    = 2000
	maxSeenNames = 20_000
)

// seenNames are the names of one kind that contain search, in any case.
func (rd *reader) seenNames(ctx context.Context, project int64, kind capture.SeenKind, search string) ([]capture.Seen, error) {
	search = strings.ToLower(search)
	var out []capture.Seen
	for offset := 0; offset < maxSeenNames; offset += seenPiece {
		piece, err := rd.history.SeenNames(ctx, project, kind, seenPiece, offset)
		if err != nil {
			return nil, err
		}
		for _, s := range piece {
			if strings.Contains(strings.ToLower(s.Name), search) {
				out = append(out, s)
			}
		}
		if len(piece) < seenPiece {
			break
		}
	}
	return out, nil
}

// listPropertyDefinitions answers with the properties of events, or of what type
// says, by name (§5.4).
func listPropertyDefinitions(rd *reader, w http.ResponseWriter, r *http.Request, project int64) error {
	params := r.URL.Query()
	owner := owners[0]
	if text := params.Get("type"); text != "" {
		found := false
		for _, o := range owners {
			if o.name == text {
				owner, found = o, true
			}
		}
		if !found {
			return problemInvalidChoice.with("", "type").say("%s is not a valid choice.", strconv.Quote(shorten(text)))
		}
	}
	groupIndex := -1
	if owner.kind == capture.SeenGroupProperty && params.Has("group_type_index") {
		var err error
		if groupIndex, err = groupTypeIndex(params); err != nil {
			return err
		}
	}
	seen, err := rd.seenNames(r.Context(), project, owner.kind, params.Get("search"))
	if err != nil {
		return err
	}
	list := make([]propertyDefinition, 0, len(seen))
	for _, s := range seen {
		if groupIndex >= 0 && s.Group != groupIndex {
			continue
		}
		d := propertyDefinition{Name: s.Name, IsNumerical: s.Type == "Numeric", Type: owner.name, LastSeenAt: stamp(s.At)}
		if s.Type != "" {
			d.PropertyType = &s.Type
		}
		if owner.kind == capture.SeenGroupProperty {
			d.GroupTypeIndex = &s.Group
		}
		list = append(list, d)
	}
	return replyCounted(rd, w, r, list)
}

// listEventDefinitions answers with the names of events, by name.
func listEventDefinitions(rd *reader, w http.ResponseWriter, r *http.Request, project int64) error {
	seen, err := rd.seenNames(r.Context(), project, capture.SeenEvent, r.URL.Query().Get("search"))
	if err != nil {
		return err
	}
	list := make([]eventDefinition, len(seen))
	for i, s := range seen {
		list[i] = eventDefinition{s.Name, stamp(s.At)}
	}
	return replyCounted(rd, w, r, list)
}
