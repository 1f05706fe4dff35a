package rollouts

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// kindRolloutTask is the kind of the tasks of live rollouts: ID is the number of the rollout, Other
// the project, Sort the time of the next evaluation.
const kindRolloutTask = "guarded_rollout_task"

const (
	// budgetShare is the part of its interval that an evaluation may take. The interval of a rollout
	// that takes longer doubles, up to maxInterval.
	budgetShare = 10
	maxInterval = time.Hour
	// failuresToTell is the number of failed evaluations in a row after which users are notified.
	failuresToTell = 3
	// maxFailure limits the stored reason of a failure, in bytes.
	maxFailure = 500
)

// rolloutTask is the data of a record of the kind kindRolloutTask.
type rolloutTask struct {
	Project int64         `json:"project"`
	ID      int64         `json:"id"`
	Status  rolloutStatus `json:"status,omitempty"`
	// Interval is the time between two evaluations in seconds, if they take too long for the
	// interval of the server.
	Interval int64 `json:"interval,omitempty"`
	// Failures is the number of evaluations in a row that have failed, FailedSince the time of the
	// first of them, and Failure the reason of the last one.
	Failures    int              `json:"failures,omitempty"`
	FailedSince management.Stamp `json:"failed_since,omitzero"`
	Failure     string           `json:"failure,omitempty"`
}

// interval returns the time between two evaluations, or 0 if it is that of the server.
func (t *rolloutTask) interval() time.Duration { return time.Duration(t.Interval) * time.Second }

// put stores the task, due at a time.
func (t *rolloutTask) put(tx storeTx, due time.Time) error {
	return tx.Put(&management.Record{
		Kind: kindRolloutTask, ID: strconv.FormatInt(t.ID, 10), Other: management.ProjectParent(t.Project), Sort: storage.SortTime(due), Data: storage.Encode(t),
	})
}

// fail records a failure after those of before.
func (t *rolloutTask) fail(before *rolloutTask, reason string, now time.Time) {
	t.Failures, t.FailedSince, t.Failure = before.Failures+1, before.FailedSince, reason
	if before.Failures == 0 {
		t.FailedSince = management.NewStamp(now)
	}
}

// putTask stores the task of a rollout. It removes the task if the rollout is not live.
func (s Service) putTask(tx storeTx, x *storedRollout, t *rolloutTask, due time.Time) error {
	if !x.Status.isLive() {
		return tx.Delete(kindRolloutTask, "", strconv.FormatInt(x.ID, 10))
	}
	return t.put(tx, due)
}

// schedule sets the time of the next evaluation after an action of a user. It removes the task if
// the rollout is not live.
func (s Service) schedule(tx storeTx, project int64, x *storedRollout, due time.Time) error {
	return s.putTask(tx, x, &rolloutTask{Project: project, ID: x.ID, Status: x.Status}, due)
}

// nextInterval returns the time until the next evaluation of a rollout (experiments.md §4.15): it
// doubles if an evaluation takes more than a tenth of it, and halves if it takes less than a tenth
// of the half.
func (s Service) nextInterval(t *rolloutTask, took time.Duration) time.Duration {
	base := s.interval()
	now := max(base, t.interval())
	switch {
	case took > now/budgetShare:
		return min(2*now, max(base, maxInterval))
	case took <= now/2/budgetShare:
		return max(now/2, base)
	}
	return now
}

// recordFailure records that a rollout could not be evaluated, and notifies users after
// failuresToTell failures in a row. It is due again as set by claim.
func (s Service) recordFailure(ctx context.Context, claimed *rolloutTask, reason error) error {
	return s.Env.Store.Write(ctx, func(tx storeTx) error {
		now, err := s.Env.StoreNow(tx)
		if err != nil {
			return err
		}
		t, err := management.Found[rolloutTask](tx.Get(kindRolloutTask, "", strconv.FormatInt(claimed.ID, 10)))
		if err != nil || t == nil || t.Failures != claimed.Failures { // another server was faster
			return err
		}
		t.fail(claimed, failureText(reason), now)
		if err := t.put(tx, now.Add(evaluationClaimTime)); err != nil || t.Failures != failuresToTell {
			return err
		}
		p, x, err := s.loadTask(tx, t)
		var unreadable *storage.UnreadableError
		if errors.As(err, &unreadable) || err == nil && x == nil { // then nobody is known who could be told
			return nil
		}
		if err != nil {
			return err
		}
		v, err := definitions.JobView(tx, p, x.StartedBy)
		if err != nil {
			return err
		}
		x.tell("evaluation_failed", "The metrics are not watched at present: "+t.Failure)
		return s.announce(v, x, nil)
	})
}

// failureText returns the reason of a failure for users. Errors of the store may contain details of
// the server, so they are only logged.
func failureText(reason error) string {
	var fault *management.Error
	var unreadable *storage.UnreadableError
	text := "The evaluation failed; the log of the server has the reason."
	switch {
	case errors.As(reason, &fault):
		text = fault.Message
	case errors.As(reason, &unreadable):
		text = "The stored " + unreadable.What + " is invalid."
	}
	return text[:min(len(text), maxFailure)]
}
