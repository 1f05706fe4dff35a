package batchexports

import (
	"errors"
	"time"

	"github.com/bunting-flags/bunting/management"
)

const (
	// exportLease is how long a server that does not come back keeps others away.
	// The clocks of servers may differ by half of it.
	exportLease = time.Minute
	// defaultWatch is Config.Watch when that is zero.
	defaultWatch = 10 * time.Second
	// exportWorkers is how many exports a server runs at a time.
	exportWorkers = 2
	// exportAttempts is how often a run may fail before it is given up.
	exportAttempts = 10
	// exportTime bounds one attempt.
	exportTime = 6 * time.Hour
	// maxExportError is how much of an error is kept, in bytes.
	maxExportError = 1000
)

var errLeaseLost = errors.New("another server has taken the export over")

// errRunCancelled ends the work on a run that somebody has cancelled.
var errRunCancelled = errors.New("the run was cancelled")

// exportPause is how long is waited after so many failures: 5 seconds, twice as
// long each time, at most 10 minutes.
func exportPause(failures int) time.Duration {
	const first, longest = 5 * time.Second, 10 * time.Minute
	if failures > 7 {
		return longest
	}
	return min(first<<max(failures-1, 0), longest)
}

// claimedRun is an export whose lease this server has.
type claimedRun struct {
	owner  string
	export *exportRecord
	task   *exportTask // as it was when the lease was taken
	run    *exportRun  // nil: there is none to be done
}

// checkLease reads the task, if the lease is still this server's.
func (s Service) checkLease(tx management.Tx, h *claimedRun) (*exportTask, error) {
	t, err := taskOf(tx, h.task.Export)
	var apiErr *management.Error
	if errors.As(err, &apiErr) || err == nil && t.Owner != h.owner {
		return nil, errLeaseLost
	}
	return t, err
}
