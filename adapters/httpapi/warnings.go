package httpapi

import (
	"strconv"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
)

// warning is an ingestion warning as it is shown: what became of events that
// were dropped or not carried out as they were sent (decision 15), those of one
// type and distinct id added up. It holds no values of properties.
type warning struct {
	Type       capture.WarningType `json:"type"`
	DistinctID string              `json:"distinct_id"`
	// EventUUID is the last event's, null when it had none.
	EventUUID *capture.UUID    `json:"event_uuid"`
	Detail    string           `json:"detail"`
	Count     int64            `json:"count"`
	FirstSeen management.Stamp `json:"first_seen"`
	LastSeen  management.Stamp `json:"last_seen"`
}

// listWarnings answers with warnings, newest first.
func (rd *reader) listWarnings(c *call) (any, error) {
	p := pageOf(c.query())
	found, err := rd.history.Warnings(c.ctx, c.project(), p.limit+1, p.offset)
	if err != nil {
		return nil, err
	}
	out := uncounted[warning]{Results: []warning{}, Previous: c.previous(p)}
	if len(found) > p.limit {
		found = found[:p.limit]
		out.Next = c.link(map[string]string{"limit": strconv.Itoa(p.limit), "offset": strconv.Itoa(p.offset + p.limit)})
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
