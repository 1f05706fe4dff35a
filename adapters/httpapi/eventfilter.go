package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
)

// eventWalk is a walk over events that are looked at one by one.
type eventWalk struct {
	limit      int // ends after so many that match
	skip       int // steps over so many that match before; what is left of it stays here
	maxScanned int // ends after so many that were looked at
	match      func(*capture.Record) bool
}

// walkPieceSize is the most events of a walk that are read at a time.
const walkPieceSize = 500

// walkEvents walks over events from the place of q.After on, newest first. last is
// the last one that it has looked at, nil when there are no more.
func (rd *reader) walkEvents(ctx context.Context, project int64, q capture.EventQuery, l *eventWalk) (found []capture.Record, last *capture.Record, err error) {
	n, size := firstPiece, 0
	for scanned := 0; scanned < l.maxScanned; {
		q.Limit = min(n, l.maxScanned-scanned)
		piece, err := rd.history.Events(ctx, project, q)
		if err != nil {
			return nil, nil, err
		}
		read := 0
		for i := range piece {
			e := &piece[i]
			last = e
			q.After = &capture.EventCursor{Timestamp: e.Timestamp, ID: e.ID}
			bytes := eventBytes(e)
			read += bytes
			switch {
			case l.match != nil && !l.match(e):
			case l.skip > 0:
				l.skip--
			default:
				found, size = append(found, *e), size+bytes
			}
			if len(found) == l.limit || size >= pageBytes {
				return found, last, ctx.Err()
			}
		}
		scanned += len(piece)
		if len(piece) < q.Limit {
			return found, nil, ctx.Err()
		}
		n = min(max(pageBytes/max(read/len(piece), 1), 1), walkPieceSize)
	}
	// A match that was given up is none.
	return found, last, ctx.Err()
}

// propertyPrefixes are the types of filters of events, and where the property stands
// that they compare: in the event, or in its person as it was then.
var propertyPrefixes = map[string]string{"": "event:", "event": "event:", "feature": "event:", "person": "person:"}

// eventFilters reads a JSON list of property filters and makes one for persons of it
// whose keys say where the property stands; empty: there are none.
func eventFilters(text string) (string, error) {
	list, err := filterList[map[string]json.RawMessage](text)
	if err = cmp.Or(err, checkFilters(len(list))); err != nil {
		return "", err
	}
	for i, filter := range list {
		var kind, key string
		if raw := filter["type"]; raw != nil && json.Unmarshal(raw, &kind) != nil {
			return "", invalid("properties", "properties[%d].type: expected a text.", i)
		}
		prefix, exists := propertyPrefixes[kind]
		if !exists {
			return "", invalid("properties", "properties[%d].type: events are found by filters of type event, feature and person, not %q.", i, shorten(kind))
		}
		if json.Unmarshal(filter["key"], &key) != nil {
			return "", invalid("properties", "properties[%d].key: expected a text.", i)
		}
		quoted, err := json.Marshal(prefix + key)
		if err != nil {
			return "", err
		}
		filter["key"], filter["type"] = quoted, json.RawMessage(`"person"`)
	}
	return filterText(list)
}

// eventMatcher compiles a JSON list of property filters once for a request, by the settings
// of a project; nil: there are none. Operators mean the same here as in filters of persons.
// What it makes is for one goroutine, and matches nothing once ctx has ended.
func eventMatcher(ctx context.Context, text string, settings map[string]json.RawMessage, now time.Time) (func(*capture.Record) bool, error) {
	filters, err := eventFilters(text)
	if err != nil || filters == "" {
		return nil, err
	}
	d, properties, err := readFilters(filters, settings)
	if err != nil {
		return nil, err
	}
	tests := make([]*flags.Filter, len(properties))
	for i, p := range properties {
		key, ofEvent := strings.CutPrefix(p.Key, "event:")
		if tests[i], err = filterOf(&d, p, ofEvent && flags.ComparesElements(key)); err != nil {
			return nil, err
		}
	}
	return func(e *capture.Record) bool {
		if ctx.Err() != nil {
			return false
		}
		objects := map[string]capture.Object{}
		for i, test := range tests {
			prefix, key, _ := strings.Cut(properties[i].Key, ":")
			object, read := objects[prefix]
			if !read {
				from := e.Properties
				if prefix == "person" {
					from = e.PersonProperties
				}
				object, _ = capture.ParseObject(from) // what is stored was read before
				objects[prefix] = object
			}
			value, _ := object.Get(key)
			if !test.HoldsJSON(value, now) {
				return false
			}
		}
		return true
	}, nil
}
