package queries

import (
	"encoding/json"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/port"
)

// Mode determines whether a cached result is sufficient, and whether the caller waits (§1.6).
type Mode string

// These are the modes.
const (
	Blocking         Mode = "blocking"
	ForceBlocking    Mode = "force_blocking"
	Async            Mode = "async"
	lazyAsync        Mode = "lazy_async"
	ForceAsync       Mode = "force_async"
	asyncExceptFirst Mode = "async_except_on_cache_miss"
	CacheOnly        Mode = "force_cache"
)

// Modes is the list of all modes.
var Modes = []Mode{Blocking, ForceBlocking, Async, lazyAsync, ForceAsync, asyncExceptFirst, CacheOnly}

// Request is a query to execute.
type Request struct {
	Project *port.Project
	Query   json.RawMessage
	Mode    Mode
	// ID identifies the run for Status and Cancel. If empty, a run whose caller waits has no
	// ID, and a background run is assigned one.
	ID string
	// Name is a name for logs.
	Name string
	// MaxWait is the time after which a query continues in the background and Execute returns
	// its status. If zero, Execute waits for the result.
	MaxWait time.Duration
	// Shared reports whether the request comes from a public link. Any result of the last
	// minute is then sufficient, independent of its cost, and so is any computation in
	// progress, so that many visitors cost no more than one.
	Shared bool
}

// Answer is the response to a Request: a result, the status of a run in progress, or both. In
// the last case the result is an older one.
type Answer struct {
	// Result has the members of §1.4. It is nil if there is no result.
	Result map[string]any
	// Status is the status of a run that is in progress. It is nil if there is no such run.
	Status *Status
	// Ignored has one line for each member of the query that has no effect.
	Ignored []string
}

// isForced reports whether cached results must not be used.
func (r *Request) isForced() bool { return r.Mode == ForceBlocking || r.Mode == ForceAsync }

// isBlocking reports whether the caller waits for the computation. old reports whether there
// is a cached result.
func (r *Request) isBlocking(old bool) bool {
	return r.Mode == Blocking || r.Mode == ForceBlocking || r.Mode == asyncExceptFirst && !old
}

// Status is the status of a run (§1.5).
type Status struct {
	ID           string         `json:"id"`
	Async        bool           `json:"query_async"`
	Team         int64          `json:"team_id"`
	Insight      *int64         `json:"insight_id"`
	Dashboard    *int64         `json:"dashboard_id"`
	Failed       bool           `json:"error"`
	ErrorMessage *string        `json:"error_message"`
	Complete     bool           `json:"complete"`
	Results      map[string]any `json:"results"`
	Start        *string        `json:"start_time"`
	Pickup       *string        `json:"pickup_time"`
	End          *string        `json:"end_time"`
	Expiration   *string        `json:"expiration_time"`
	Task         *string        `json:"task_id"`
	Labels       []string       `json:"labels"`
	Progress     *progress      `json:"query_progress"`

	// ClientError reports whether the run failed because of the query or a limit.
	ClientError bool `json:"-"`
}

// progress is the progress of a run (§5.5). Times are in milliseconds.
type progress struct {
	BytesRead     int64 `json:"bytes_read"`
	RowsRead      int64 `json:"rows_read"`
	EstimatedRows int64 `json:"estimated_rows_total"`
	TimeElapsed   int64 `json:"time_elapsed"`
	ActiveCPUTime int64 `json:"active_cpu_time"`
}
