package httpapi

import (
	"net/http"
	"strconv"

	"github.com/bunting-flags/bunting/capture"
)

// warning is an ingestion warning as it is shown: what became of events that
// were dropped or not carried out as they were sent (decision 15), those of one
// type and distinct id added up. It holds no values of properties.
type warning struct {
	Type       capture.WarningType `json:"type"`
	DistinctID string              `json:"distinct_id"`
	// EventUUID is the last event's, null when it had none.
	EventUUID *capture.UUID `json:"event_uuid"`
	Detail    string        `json:"detail"`
	Count     int64         `json:"count"`
	FirstSeen stamp         `json:"first_seen"`
	LastSeen  stamp         `json:"last_seen"`
}

// listWarnings answers with warnings, newest first.
func listWarnings(rd *reader, w http.ResponseWriter, r *http.Request, project int64) error {
	p := pageOf(r.URL.Query())
	found, err := rd.history.Warnings(r.Context(), project, p.limit+1, p.offset)
	if err != nil {
		return err
	}
	out := uncounted[warning]{Results: []warning{}, Previous: rd.previous(r, p)}
	if len(found) > p.limit {
		found = found[:p.limit]
		out.Next = rd.link(r, map[string]string{"limit": strconv.Itoa(p.limit), "offset": strconv.Itoa(p.offset + p.limit)})
	}
	for _, f := range found {
		shown := warning{
			Type: f.Type, DistinctID: f.DistinctID, Detail: f.Detail, Count: f.Count, FirstSeen: stamp(f.First), LastSeen: stamp(f.At),
		}
		if !f.EventUUID.IsZero() {
			shown.EventUUID = &f.EventUUID
		}
		out.Results = append(out.Results, shown)
	}
	return rd.reply(w, http.StatusOK, out)
}
