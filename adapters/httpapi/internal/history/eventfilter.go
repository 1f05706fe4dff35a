package history

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
)

// eventWalk contains the limits of a scan that filters events one by one.
type eventWalk struct {
	limit      int                        // maximum number of matches
	skip       int                        // number of matches to skip; the remainder is stored here
	maxScanned int                        // maximum number of events that are read
	match      func(*capture.Record) bool // if nil, all events match
}

// walkPieceSize is the maximum number of events that a walk reads at a time.
const walkPieceSize = 500

// walkEvents scans events after q.After, newest first, and returns those that match. last is the
// last event that was read, or nil if there are no more.
func (rd *Reader) walkEvents(ctx context.Context, project int64, q capture.EventQuery, l *eventWalk) (found []capture.Record, last *capture.Record, err error) {
	n, size := firstPiece, 0
	for scanned := 0; scanned < l.maxScanned; {
		q.Limit = min(n, l.maxScanned-scanned)
		piece, err := rd.History.Events(ctx, project, q)
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
	// If ctx is done, match has returned false without comparing, so the result is not valid.
	return found, last, ctx.Err()
}

// propertyPrefixes maps the types of event filters to a prefix for the key, which identifies the
// object with the property: the event, or its person at the time of the event.
var propertyPrefixes = map[string]string{"": "event:", "event": "event:", "feature": "event:", "person": "person:"}

// eventFilters converts a JSON list of event filters to one of person filters, with keys that have
// a prefix of propertyPrefixes. It returns an empty string if there are no filters.
func eventFilters(text string) (string, error) {
	list, err := filterList[map[string]json.RawMessage](text)
	if err = cmp.Or(err, checkFilters(len(list))); err != nil {
		return "", err
	}
	for i, filter := range list {
		var kind, key string
		if raw := filter["type"]; raw != nil && json.Unmarshal(raw, &kind) != nil {
			return "", problem.Invalid("properties", "properties[%d].type: expected a string.", i)
		}
		prefix, exists := propertyPrefixes[kind]
		if !exists {
			return "", problem.Invalid("properties", "properties[%d].type: filters of events must have type event, feature or person, not %q.", i, problem.Shorten(kind))
		}
		if json.Unmarshal(filter["key"], &key) != nil {
			return "", problem.Invalid("properties", "properties[%d].key: expected a string.", i)
		}
		quoted, err := json.Marshal(prefix + key)
		if err != nil {
			return "", err
		}
		filter["key"], filter["type"] = quoted, json.RawMessage(`"person"`)
	}
	return filterText(list)
}

// eventMatcher compiles a JSON list of property filters with the settings of a project. It returns
// nil if there are no filters. Operators have the same meaning as in filters of persons. The
// function that it returns is not safe for concurrent use, and returns false once ctx is done.
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
				object, _ = capture.ParseObject(from) // stored JSON is always valid
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
