package manage

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management/featureflags"
)

const (
	// maxCallsScanned is the maximum number of flag calls of one person that are read for each kind
	// of exposure event, newest first. callsPage is how many are read at a time.
	maxCallsScanned, callsPage = 10_000, 500
	// callsTimeout limits the time for reading calls. When it has passed, the calls that were found
	// so far are returned.
	callsTimeout = 5 * time.Second
	// copiedPerson is the maximum length of a person's properties, in bytes, for which events store
	// a copy of them.
	copiedPerson = 64 << 10
)

// lastCalls returns the last call of each flag with one of the distinct IDs, by flag ID. ids maps
// the keys of the flags to their IDs. person is the person with the distinct IDs, or nil.
func (svc flagService) lastCalls(c *frame.Call, distinctIDs []string, person *capture.StoredPerson, ids map[string]int64) (map[int64]*featureflags.LastCall, error) {
	out := map[int64]*featureflags.LastCall{}
	if svc.history == nil {
		return out, nil
	}
	ctx, cancel := context.WithTimeout(c.Ctx, callsTimeout)
	defer cancel()
	now := ""
	if person != nil {
		now = person.Properties.String()
	}
	for _, name := range capture.Exposures() {
		err := svc.eachCall(ctx, c.Project(), capture.EventQuery{Name: name, DistinctIDs: distinctIDs, Limit: callsPage}, func(e *capture.Record, properties capture.Object) {
			key, _ := properties.Text("$feature_flag")
			id, requested := ids[key]
			if !requested {
				return
			}
			last, calls := out[id], 0
			if last != nil {
				calls = last.Calls
			}
			if last == nil || e.Timestamp.After(last.At) {
				last = callOf(e, properties)
				last.PersonChanged = person != nil && changedSince(e, person, now)
				out[id] = last
			}
			last.Calls = calls + 1
		})
		if err != nil && c.Ctx.Err() == nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			break // return what was found in time
		}
		if err != nil {
			return nil, err
		}
	}
	return out, svc.FillVersions(c.Ctx, c.Scope, out)
}

// eachCall calls visit for the newest events that match q, at most maxCallsScanned.
func (svc flagService) eachCall(ctx context.Context, project int64, q capture.EventQuery, visit func(*capture.Record, capture.Object)) error {
	for scanned := 0; scanned < maxCallsScanned; scanned += callsPage {
		page, err := svc.history.Events(ctx, project, q)
		if err != nil {
			return err
		}
		for i := range page {
			properties, _ := capture.ParseObject(page[i].Properties) // an invalid object has no flag key
			visit(&page[i], properties)
		}
		if len(page) < callsPage {
			return nil
		}
		q.After = &capture.EventCursor{Timestamp: page[len(page)-1].Timestamp, ID: page[len(page)-1].ID}
	}
	return nil
}

// callOf returns the flag call that an event reports.
func callOf(e *capture.Record, properties capture.Object) *featureflags.LastCall {
	out := &featureflags.LastCall{At: e.Timestamp, DistinctID: e.DistinctID}
	out.SDK, _ = properties.Text("$lib")
	response, _ := properties.Get("$feature_flag_response")
	switch v := wire.Value([]byte(response)).(type) {
	case bool, string:
		out.Value = v
	}
	version, _ := properties.Get("$feature_flag_version")
	if n, err := strconv.ParseInt(version, 10, 64); err == nil {
		out.Version = n
	}
	return out
}

// changedSince reports whether a person, with the properties now, differs from the person that is
// stored with the event.
func changedSince(e *capture.Record, person *capture.StoredPerson, now string) bool {
	if e.PersonMode == capture.Propertyless || len(now) > copiedPerson {
		return person.CreatedAt.After(e.Timestamp)
	}
	return e.PersonProperties != now
}
