package batchexports

import (
	"errors"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// The timing and the limits of runs.
const (
	// exportLease is the time after which other servers may continue the work of a server that has
	// crashed. The clocks of servers may differ by half of it.
	exportLease = time.Minute
	// defaultWatch is the default of Config.Watch.
	defaultWatch = 10 * time.Second
	// exportWorkers is the number of exports that a server runs at the same time.
	exportWorkers = 2
	// exportAttempts is the number of failed attempts after which a run ends.
	exportAttempts = 10
	// exportTime bounds one attempt.
	exportTime = 6 * time.Hour
	// maxExportError is the number of bytes of an error that are stored.
	maxExportError = 1000
)

// errLeaseLost reports that the lease has expired and another server has acquired it, or that the
// export was deleted.
var errLeaseLost = errors.New("another server has taken over the export")

// errRunCancelled stops the execution of a run that a user has cancelled.
var errRunCancelled = errors.New("the run was cancelled")

// exportPause returns the time before the next attempt: 5 seconds after the first failure, twice as
// long after each further one, and at most 10 minutes.
func exportPause(failures int) time.Duration {
	const first, longest = 5 * time.Second, 10 * time.Minute
	if failures > 7 {
		return longest
	}
	return min(first<<max(failures-1, 0), longest)
}

// claimedRun is an export for which this server has the lease.
type claimedRun struct {
	// owner is the random id of the lease. task and run are as they were when the lease was
	// acquired; run is nil if there is no current run.
	owner  string
	export *exportRecord
	task   *exportTask
	run    *exportRun
}

// checkLease returns the current task, or errLeaseLost if this server has lost the lease.
func (s Service) checkLease(tx management.Tx, h *claimedRun) (*exportTask, error) {
	t, err := taskOf(tx, h.task.Export)
	var apiErr *management.Error
	if errors.As(err, &apiErr) || err == nil && t.Owner != h.owner {
		return nil, errLeaseLost
	}
	return t, err
}
