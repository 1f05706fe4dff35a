package insights

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/flags"
)

// Project is what queries need to know of a project.
type Project struct {
	ID int64
	// Location is the time zone; nil: UTC.
	Location *time.Location
	// PropertyMatchingVersion is that of flags, see [flags.Definitions].
	PropertyMatchingVersion int
	// WeekStart is Sunday (0) or Monday.
	WeekStart time.Weekday
	// TestAccountFilters is a JSON list of property filters, empty for none.
	TestAccountFilters json.RawMessage
	// PathCleaning is a JSON list of {"regex", "alias"}, empty for none.
	PathCleaning json.RawMessage
	// PersonDisplay are the properties that name a person, first the best; none: the
	// usual ones (§2.9.1).
	PersonDisplay []string
	// PersonMode is modifiers.personsOnEventsMode of the project, empty for the default.
	PersonMode string
	// GroupTypes are the names of the group types by their number.
	GroupTypes []string
	// Experiment finds one that is not deleted; nil where there is none, or none that who
	// asks may see. A nil function knows none. Its errors are those of [Parse].
	Experiment func(id int64) (*experiments.Experiment, error)
	// Issues are those of error tracking that who asks may see.
	Issues Issues
	// Actions are those that are not deleted, by their ids.
	Actions map[int64]Action
	// Definitions holds the project's cohorts (and flags), by which cohorts have the
	// same members here as for flags.
	Definitions *flags.Definitions
}

// Action is a named disjunction of steps (§2.3).
type Action struct {
	Name string
	// Steps is the JSON list of steps.
	Steps json.RawMessage
}

// Limits bound one query (§5.4); zero members mean the defaults.
type Limits struct {
	// Memory is in bytes, 256 MiB by default.
	Memory int64
	// Rows is how many rows a result may have, 50,000 by default.
	Rows int
}

// Options are how a query is run.
type Options struct {
	// Now is the instant at which the request arrived.
	Now    time.Time
	Limits Limits
	// Progress is told now and then how many events were read; nil: nobody is.
	Progress func(read int64)
}

// Result is the answer to a query. Members that a kind does not have are zero.
type Result struct {
	// Results is the member of that name, ready for JSON.
	Results any
	// Range is the current period of trends, funnels, retention, lifecycle and
	// stickiness; zero: the kind has none.
	From, To time.Time
	// HasMore: there is more than was returned. nil: the kind does not say.
	HasMore *bool
	// Limit and Offset are those in force, nil where a kind has none.
	Limit, Offset *int
	// Columns and Types describe rows: Types is a list of names, of HogQL of pairs.
	Columns []string
	Types   any
	// HogQL is the text that was run.
	HogQL string
	// Extra are members that one kind alone has, such as missing_actors_count; of
	// InsightActorsQueryOptions and HogQLMetadata, which have no results, all.
	Extra map[string]any
	// Read is how many events were read.
	Read int64
	// Parse, Scan and Compute are the times it took.
	Timings []Timing
}

// Timing is a part of the work and how long it took.
type Timing struct {
	Name string
	Took time.Duration
}

// Query is a query that was read and understood. It may be run more than once.
type Query struct {
	// Kind is the kind after wrappers were taken off.
	Kind string
	// Source is the JSON of that kind: wrappers taken off, names of members as given.
	Source json.RawMessage
	// Ignored are lines that name members of the query that have no effect, at most 10.
	Ignored []string
	// Experiment is the one that the query is about, nil for none.
	Experiment *experiments.Experiment
	// Issues are those that the query is about, nil for none.
	Issues  []Issue
	project *Project
	plan    plan
	mode    string
}

// plan is a kind's own part of a query.
type plan interface {
	run(r *run) (*Result, error)
}

// kind is a row of the table of kinds.
type kind struct {
	name  string
	parse func(n node, p *Project) plan
}

// kinds are all kinds that are answered (§2.1). Add one here: a row and a file.
var kinds []kind

// Kinds are the names of the kinds that are answered.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	slices.Sort(names)
	return names
}
