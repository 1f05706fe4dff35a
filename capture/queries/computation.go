package queries

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// computation is the execution of a query. Several runs may wait for the same computation. It
// is canceled when all of them have ended.
type computation struct {
	prepared *preparedQuery
	ctx      context.Context
	cancel   context.CancelCauseFunc
	// waiters is the number of runs that wait for the result. It is protected by Service.mu.
	waiters int
	// picked is closed when the scheduler starts the computation, done when it has ended.
	picked, done    chan struct{}
	pickedAt        time.Time // must only be read after picked is closed
	entry           *entry
	err             error
	rows, estimated atomic.Int64
	// estimate reports whether the number of events is counted before each scan, for the
	// progress of the run.
	estimate bool
}

// maxResult is the greatest length of a result, in bytes (§5.4).
const maxResult = 32 << 20

// members returns the members of a response (§1.4), except is_cached.
func (a *preparedQuery) members(r *port.Result, took time.Duration, ages ages) (map[string]any, error) {
	zone := time.UTC
	if a.request.Project.Location != nil {
		zone = a.request.Project.Location
	}
	out := map[string]any{
		"last_refresh": stamp(a.now), "cache_target_age": stamp(a.now.Add(ages.lazy)),
		"next_allowed_client_refresh": stamp(a.now.Add(min(time.Minute, maxAgeFactor*took))),
		"cache_key":                   a.key, "timezone": zone.String(), "hogql": r.HogQL, "modifiers": a.modifiers(), "timings": timings(r.Timings, took),
	}
	if r.Results != nil {
		raw, err := wire.Encode(r.Results)
		if err != nil {
			return nil, err
		}
		out["results"] = json.RawMessage(raw)
	}
	for name, v := range map[string]any{"columns": r.Columns, "types": r.Types} {
		if raw, err := wire.Encode(v); err == nil && string(raw) != "null" {
			out[name] = json.RawMessage(raw)
		}
	}
	if !r.From.IsZero() || !r.To.IsZero() {
		out["resolved_date_range"] = map[string]any{"date_from": r.From.Format(time.RFC3339Nano), "date_to": r.To.Format(time.RFC3339Nano)}
	}
	if r.HasMore != nil {
		out["hasMore"] = *r.HasMore
	}
	if r.Limit != nil {
		out["limit"] = *r.Limit
	}
	if r.Offset != nil {
		out["offset"] = *r.Offset
	}
	for name, v := range r.Extra {
		raw, err := wire.Encode(v)
		if err != nil {
			return nil, err
		}
		out[name] = json.RawMessage(raw)
	}
	return out, nil
}

// modifiers returns the modifiers that apply to the query (§3.3).
func (a *preparedQuery) modifiers() map[string]any {
	mode := a.request.Project.PersonMode
	if source, ok := wire.Value(a.query.Source).(map[string]any); ok {
		if requested, ok := source["modifiers"].(map[string]any); ok {
			if text, ok := requested["personsOnEventsMode"].(string); ok {
				mode = text
			}
		}
	}
	if mode == "" {
		mode = "person_id_override_properties_on_events"
	}
	return map[string]any{"personsOnEventsMode": mode}
}

// timings returns the durations of the steps of a query. If the query has no steps, it
// returns one for the whole.
func timings(list []port.Timing, took time.Duration) []map[string]any {
	if len(list) == 0 {
		list = []port.Timing{{Name: "compute", Took: took}}
	}
	out := make([]map[string]any, len(list))
	for i, t := range list {
		out[i] = map[string]any{"k": "./" + t.Name, "t": t.Took.Seconds()}
	}
	return out
}

// stamp formats a time for responses.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// isClientError reports whether an error was caused by the query or a limit, and not by the
// server (§1.5).
func isClientError(err error) bool {
	var wrong *port.Error
	var ours *Error
	return errors.As(err, &wrong) || errors.As(err, &ours)
}
