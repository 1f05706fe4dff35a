package history

import (
	"strconv"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
)

// warning is an ingestion warning in responses: the number of events of one type and distinct id
// that were dropped or changed (decision 15). It contains no property values.
type warning struct {
	Type       capture.WarningType `json:"type"`
	DistinctID string              `json:"distinct_id"`
	// EventUUID is the UUID of the last event. It is null if that event has none.
	EventUUID *capture.UUID    `json:"event_uuid"`
	Detail    string           `json:"detail"`
	Count     int64            `json:"count"`
	FirstSeen management.Stamp `json:"first_seen"`
	LastSeen  management.Stamp `json:"last_seen"`
}

// listWarnings lists warnings, newest first.
func (rd *Reader) listWarnings(c *frame.Call) (any, error) {
	p := frame.RangeOf(c.Query())
	found, err := rd.History.Warnings(c.Ctx, c.Project(), p.Limit+1, p.Offset)
	if err != nil {
		return nil, err
	}
	out := frame.Uncounted[warning]{Results: []warning{}, Previous: c.Previous(p)}
	if len(found) > p.Limit {
		found = found[:p.Limit]
		out.Next = c.Link(map[string]string{"limit": strconv.Itoa(p.Limit), "offset": strconv.Itoa(p.Offset + p.Limit)})
	}
	for _, f := range found {
		view := warning{
			Type: f.Type, DistinctID: f.DistinctID, Detail: f.Detail, Count: f.Count, FirstSeen: management.Stamp{Time: f.First}, LastSeen: management.Stamp{Time: f.At},
		}
		if !f.EventUUID.IsZero() {
			view.EventUUID = &f.EventUUID
		}
		out.Results = append(out.Results, view)
	}
	return out, nil
}
