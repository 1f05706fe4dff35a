package httpapi

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management/featureflags"
)

const (
	// maxCallsScanned is how many calls of flags by one person are looked at, the newest
	// of each kind of exposure first, and callsPage how many at a time.
	maxCallsScanned, callsPage = 10_000, 500
	// callsTimeout is how long that may take; what was found then is the answer.
	callsTimeout = 5 * time.Second
	// copiedPerson is how long the properties of a person may be of which an event
	// keeps a copy, in bytes.
	copiedPerson = 64 << 10
)

// lastCalls finds the last calls of flags with one of the distinct ids, by the id of the
// flag: of those in ids, by key. person is whose the distinct ids are, nil for nobody.
func (svc flagService) lastCalls(c *call, distinctIDs []string, person *capture.StoredPerson, ids map[string]int64) (map[int64]*featureflags.LastCall, error) {
	out := map[int64]*featureflags.LastCall{}
	if svc.history == nil {
		return out, nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, callsTimeout)
	defer cancel()
	now := ""
	if person != nil {
		now = person.Properties.String()
	}
	for _, name := range capture.Exposures() {
		err := svc.eachCall(ctx, c.project(), capture.EventQuery{Name: name, DistinctIDs: distinctIDs, Limit: callsPage}, func(e *capture.Record, properties capture.Object) {
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
		if err != nil && c.ctx.Err() == nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			break // what was found then is the answer
		}
		if err != nil {
			return nil, err
		}
	}
	return out, svc.FillVersions(c.ctx, c.scope, out)
}

// eachCall visits the newest calls that a query finds, maxCallsScanned at most.
func (svc flagService) eachCall(ctx context.Context, project int64, q capture.EventQuery, visit func(*capture.Record, capture.Object)) error {
	for scanned := 0; scanned < maxCallsScanned; scanned += callsPage {
		page, err := svc.history.Events(ctx, project, q)
		if err != nil {
			return err
		}
		for i := range page {
			properties, _ := capture.ParseObject(page[i].Properties) // what cannot be read calls no flag
			visit(&page[i], properties)
		}
		if len(page) < callsPage {
			return nil
		}
		q.After = &capture.EventCursor{Timestamp: page[len(page)-1].Timestamp, ID: page[len(page)-1].ID}
	}
	return nil
}

// callOf is what an event says of its call.
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

// changedSince reports whether a person, whose properties are now, is not what the event
// has kept of them.
func changedSince(e *capture.Record, person *capture.StoredPerson, now string) bool {
	if e.PersonMode == capture.Propertyless || len(now) > copiedPerson {
		return person.CreatedAt.After(e.Timestamp)
	}
	return e.PersonProperties != now
}
