package port

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/flags"
)

// Project has the settings of a project that affect queries.
type Project struct {
	ID int64
	// Location is the time zone; nil means UTC.
	Location *time.Location
	// PropertyMatchingVersion selects how flags compare properties, see [flags.Definitions].
	PropertyMatchingVersion int
	// WeekStart is the first day of the week, Sunday (0) or Monday.
	WeekStart time.Weekday
	// TestAccountFilters is a JSON list of property filters; empty means that there are no filters.
	TestAccountFilters json.RawMessage
	// PathCleaning is a JSON list of objects with "regex" and "alias"; empty means that paths are
	// not cleaned.
	PathCleaning json.RawMessage
	// PersonDisplay are the properties that are used as display name of persons, the preferred
	// first. If it is empty, the default properties are used (§2.9.1).
	PersonDisplay []string
	// PersonMode is the project's default of modifiers.personsOnEventsMode; empty means the
	// default.
	PersonMode string
	// GroupTypes are the names of the group types by their index.
	GroupTypes []string
	// Experiment returns the experiment with an id, or nil if it does not exist, is deleted, or may
	// not be seen by the caller. If Experiment is nil, no experiment exists. Parse returns its
	// errors.
	Experiment func(id int64) (*experiments.Experiment, error)
	// Issues provides the issues of error tracking that the caller may see.
	Issues Issues
	// Actions are the actions that are not deleted, by id.
	Actions map[int64]Action
	// Definitions has the project's flags and cohorts. Queries evaluate cohorts like flags do. If
	// it is nil, no cohort exists.
	Definitions *flags.Definitions
}

// Action is a named set of steps; an event that matches one of them belongs to the action (§2.3).
type Action struct {
	Name string
	// Steps is a JSON list of steps.
	Steps json.RawMessage
}

// Options are the options of one run.
type Options struct {
	// Now is the time at which the request arrived, to which relative dates refer.
	Now time.Time
	// Memory is the maximum memory of the query in bytes (§5.4), by default 256 MiB.
	Memory int64
	// Rows is the maximum number of rows of the result (§5.4), by default 50,000.
	Rows int
	// Keeper keeps what a run has computed for later runs. If nil, nothing is kept.
	Keeper Keeper
	// Progress is called from time to time with the number of events read so far. If nil, progress
	// is not reported.
	Progress func(read int64)
}

// Keeper keeps states between the runs of queries about the same project. What it keeps may be
// discarded at any time, and must be discarded when recorded data of the project has changed, as it
// does with merges and erasures; new events are no such change. It is safe for concurrent use.
type Keeper interface {
	// Take returns the state with a name, and removes it until Give is called, which the caller
	// must do if there is no error. The state is nil if there is none, or if it was given with
	// another version. If another run has taken the state, Take waits for it.
	Take(ctx context.Context, name, version string) (state any, err error)
	// Give keeps a state of a size in bytes. If the state is nil or larger than Limit, nothing is
	// kept.
	Give(name, version string, state any, bytes int64)
	// Limit is the maximum size of a state in bytes.
	Limit() int64
}

// Result is the result of a query. Fields that a kind does not have are zero.
type Result struct {
	// Results is the member of that name, ready for JSON encoding.
	Results any
	// From and To are the current period of trends, funnels, retention, lifecycle and stickiness.
	// They are zero for other kinds.
	From, To time.Time
	// HasMore reports whether there are more results than were returned. It is nil if the kind does
	// not have it.
	HasMore *bool
	// Limit and Offset are the values in effect; nil if the kind does not have them.
	Limit, Offset *int
	// Columns and Types describe rows. Types is a list of names, for HogQL a list of pairs of
	// column and type.
	Columns []string
	Types   any
	// HogQL is the text of the query that was run.
	HogQL string
	// Extra are members that only one kind has, such as missing_actors_count. For kinds without
	// Results, such as InsightActorsQueryOptions and HogQLMetadata, they are the whole result.
	Extra map[string]any
	// Read is the number of events that were read.
	Read int64
	// Timings are the durations of Parse, Scan and Compute.
	Timings []Timing
}

// Timing is the duration of a part of the work.
type Timing struct {
	Name string
	Took time.Duration
}

// Issue is an issue of error tracking: the exceptions with one fingerprint.
type Issue struct {
	ID, Fingerprint, Name, Description, Status string
	// Assignee is the user or role, such as user:1; nil if the issue is not assigned.
	Assignee *string
	// FirstSeen and LastSeen cover all time, not just the range of a query.
	FirstSeen, LastSeen time.Time
}

// Issues provides access to error tracking. With the zero value, queries about issues fail.
type Issues struct {
	// Find returns the issues with a status and an id; an empty string matches any. It returns at
	// most most issues, the last seen first. Parse returns its errors.
	Find func(status, id string, most int) ([]Issue, error)
	// Fingerprint returns the fingerprint of an exception. properties is a JSON object.
	Fingerprint func(properties string) string
}
