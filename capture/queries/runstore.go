package queries

import (
	"context"
	"encoding/json"
	"time"
)

// RunStore stores the state of runs for all servers of a database (§1.5).
type RunStore interface {
	// BeginRun stores a run. It replaces a stored run with the same name that has ended, or
	// that was last seen before unseen. It returns false if a run with that name is in
	// progress. It also deletes runs that exceed the bounds b.
	BeginRun(ctx context.Context, r *StoredRun, unseen time.Time, b RunBounds) (bool, error)
	// UpdateRun stores the state of a run of r.Server. It returns false if the run is not in
	// progress any more, for example because another server has canceled it.
	UpdateRun(ctx context.Context, r *StoredRun) (bool, error)
	// Run returns a run. It returns nil if there is no such run.
	Run(ctx context.Context, project int64, id string) (*StoredRun, error)
	// DeleteRuns deletes all runs that were last seen before a time.
	DeleteRuns(ctx context.Context, before time.Time) error
}

// StoredRun is the state of a run as it is shared between servers.
type StoredRun struct {
	Project int64
	ID      string
	Server  string    // the server that executes the run
	Seen    time.Time // the time of the last update or, after the end, of the end
	Ended   bool
	Status  json.RawMessage
	// Result is the body of the response. It is nil if there is no result yet, or if it is
	// too large to be stored and only Server has it.
	Result json.RawMessage
}

// RunBounds limits the stored runs: runs last seen before Before are deleted, and of each
// project's ended runs at most Count are stored, with at most Bytes bytes of results.
type RunBounds struct {
	Before time.Time
	Count  int
	Bytes  int64
}
