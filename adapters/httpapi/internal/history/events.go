package history

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// event is a stored event in a response.
type event struct {
	ID            capture.UUID     `json:"id"`
	UUID          capture.UUID     `json:"uuid"`
	Event         string           `json:"event"`
	DistinctID    string           `json:"distinct_id"`
	Properties    json.RawMessage  `json:"properties"`
	Timestamp     frame.Instant    `json:"timestamp"`
	CreatedAt     management.Stamp `json:"created_at"`
	ElementsChain string           `json:"elements_chain"`
	PersonID      capture.UUID     `json:"person_id"`
	PersonMode    string           `json:"person_mode"`
	Historical    bool             `json:"historical_migration"`
	// Person is the event's person as it was after the event, or null if the event has no person.
	Person *eventPerson `json:"person"`
}

type eventPerson struct {
	ID          capture.UUID     `json:"id"`
	UUID        capture.UUID     `json:"uuid"`
	DistinctIDs []string         `json:"distinct_ids"`
	Properties  json.RawMessage  `json:"properties"`
	CreatedAt   management.Stamp `json:"created_at"`
}

func showEvent(r *capture.Record) event {
	e := event{
		ID: r.UUID, UUID: r.UUID, Event: r.Name, DistinctID: r.DistinctID, Properties: rawObject(r.Properties),
		Timestamp: frame.Instant(r.Timestamp), CreatedAt: management.Stamp{Time: r.CreatedAt}, ElementsChain: r.ElementsChain,
		PersonID: r.PersonID, PersonMode: r.PersonMode.String(), Historical: r.Historical,
	}
	if r.PersonMode != capture.Propertyless {
		e.Person = &eventPerson{
			ID: r.PersonID, UUID: r.PersonID, DistinctIDs: []string{r.DistinctID},
			Properties: rawObject(r.PersonProperties), CreatedAt: management.Stamp{Time: r.PersonCreatedAt},
		}
	}
	return e
}

func rawObject(text string) json.RawMessage {
	if text == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(text)
}

// listEvents returns events, newest first. With order=recorded it returns them in the order in
// which they were recorded, so that exports can follow: events that arrive in the meantime are at
// the end.
func (rd *Reader) listEvents(c *frame.Call) (any, error) {
	params := c.Query()
	p := frame.RangeOf(params)
	q, err := rd.eventQuery(c.Ctx, c.Project(), params)
	if err != nil {
		return nil, err
	}
	match, err := eventMatcher(c.Ctx, params.Get("properties"), c.Scope.Project.Settings, rd.now())
	if err != nil {
		return nil, err
	}
	var records []capture.Record
	var next string
	skip := 0
	switch order := params.Get("order"); order {
	case "", "-timestamp":
		records, next, skip, err = rd.newestEvents(c.Ctx, c.Project(), q, p, match)
	case "recorded":
		records, next, err = rd.recordedEvents(c.Ctx, c.Project(), q, p, match)
	default:
		err = problem.InvalidChoice.With("", "order").Detailed("%s is not a valid choice. Valid choices: -timestamp, recorded.", strconv.Quote(problem.Shorten(order)))
	}
	if err != nil {
		return nil, err
	}
	out := frame.Uncounted[event]{Results: make([]event, len(records))}
	for i := range records {
		out.Results[i] = showEvent(&records[i])
	}
	if next != "" {
		change := p.Parameters(skip)
		change["cursor"] = next
		out.Next = c.Link(change)
	}
	return out, nil
}

// eventQuery parses the query parameters that select events.
func (rd *Reader) eventQuery(ctx context.Context, project int64, params url.Values) (q capture.EventQuery, err error) {
	if q.From, err = frame.TimeParameter(params, "after"); err != nil {
		return q, err
	}
	if q.To, err = frame.TimeParameter(params, "before"); err != nil {
		return q, err
	}
	q.Name = params.Get("event")
	if params.Has("distinct_id") {
		q.DistinctIDs = []string{params.Get("distinct_id")}
	}
	if params.Has("person_id") {
		person, err := rd.Person(ctx, project, params.Get("person_id"))
		if err != nil {
			return q, err
		}
		ids := []string{}
		if person != nil {
			ids = append(ids, person.DistinctIDs...)
		}
		if distinctIDs := q.DistinctIDs; distinctIDs != nil {
			ids = slices.DeleteFunc(ids, func(id string) bool { return id != distinctIDs[0] })
		}
		q.DistinctIDs = ids
	}
	return q, nil
}

// newestEvents returns a page of events, newest first, with the cursor of the next page. skip is
// the part of the offset that the next page has to skip.
func (rd *Reader) newestEvents(ctx context.Context, project int64, q capture.EventQuery, p frame.Range, match func(*capture.Record) bool) (records []capture.Record, next string, skip int, err error) {
	after, err := frame.ParseEventCursor(p.Cursor)
	if err != nil {
		return nil, "", 0, err
	}
	if match != nil || p.Offset > 0 {
		l := &eventWalk{limit: p.Limit, skip: p.Offset, maxScanned: capture.SearchScan, match: match}
		q.After = after
		records, last, err := rd.walkEvents(ctx, project, q, l)
		if last != nil {
			next = frame.EventCursor(last.Timestamp, last.ID)
		}
		return records, next, l.skip, err
	}
	records, more, err := fill(p.Limit, func(last *capture.Record, n int) ([]capture.Record, error) {
		q.After, q.Limit = after, n
		if last != nil {
			q.After = &capture.EventCursor{Timestamp: last.Timestamp, ID: last.ID}
		}
		return rd.History.Events(ctx, project, q)
	})
	if last := lastOf(records); more && last != nil {
		next = frame.EventCursor(last.Timestamp, last.ID)
	}
	return records, next, 0, err
}

// recordedEvents reads a page of the ledger and returns the events that match. It may return no
// events and still a cursor for more.
func (rd *Reader) recordedEvents(ctx context.Context, project int64, q capture.EventQuery, p frame.Range, match func(*capture.Record) bool) ([]capture.Record, string, error) {
	after, err := frame.IDCursor(p.Cursor)
	if err != nil {
		return nil, "", err
	}
	records, more, err := fill(p.Limit, func(last *capture.Record, n int) ([]capture.Record, error) {
		if last != nil {
			return rd.History.Ledger(ctx, project, last.ID, n)
		}
		return rd.History.Ledger(ctx, project, after, n)
	})
	next := ""
	if last := lastOf(records); more && last != nil {
		next = strconv.FormatInt(last.ID, 10)
	}
	return slices.DeleteFunc(records, func(r capture.Record) bool { return !requested(&q, &r) || match != nil && !match(&r) }), next, err
}

// requested reports whether an event matches a query.
func requested(q *capture.EventQuery, r *capture.Record) bool {
	return (q.From.IsZero() || !r.Timestamp.Before(q.From)) && (q.To.IsZero() || r.Timestamp.Before(q.To)) &&
		(q.Name == "" || r.Name == q.Name) &&
		(q.DistinctIDs == nil || slices.Contains(q.DistinctIDs, r.DistinctID))
}

// getEvent returns the event with the UUID in the path.
func (rd *Reader) getEvent(c *frame.Call) (any, error) {
	id, ok := wire.ParseUUID(c.Part("event"))
	if !ok {
		return nil, &problem.NotFound
	}
	record, err := rd.History.Event(c.Ctx, c.Project(), id)
	if err != nil {
		return nil, err
	}
	if record == nil {
		return nil, &problem.NotFound
	}
	return showEvent(record), nil
}
