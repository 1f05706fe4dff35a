package queries

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/port"
)

const (
	// maxBackground is the greatest number of background runs of a project (§5.4).
	maxBackground = 20
	// runTTL is the time for which an ended run can be read. maxEndedRuns and maxEndedBytes
	// limit the number of ended runs and the total size of their results; the oldest are
	// removed first.
	runTTL        = 20 * time.Minute
	maxEndedRuns  = 1000
	maxEndedBytes = 64 << 20
)

// run is one caller's use of a computation.
type run struct {
	service     *Service
	computation *computation
	id          string
	project     int64
	background  bool
	named       bool // whether Status and Cancel can find it
	joined      bool
	began       time.Time
	ctx         context.Context
	cancel      context.CancelCauseFunc

	done chan struct{} // closed when the run has ended and its result is set

	statusMu  sync.Mutex // protects the following fields
	published bool       // whether it is in the RunStore
	ended     time.Time
	entry     *entry
	err       error
}

// runName identifies a named run.
type runName struct {
	project int64
	id      string
}

// runs are the named runs of this server. The fields are protected by Service.mu.
type runs struct {
	byName map[runName]*run
	ended  []*run // in the order in which they ended
	bytes  int64
}

// start begins a run. It assigns an ID to a background run without one.
func (d *Service) start(a *preparedQuery, background bool) (*run, error) {
	r := &run{service: d, id: a.request.ID, project: a.request.Project.ID, background: background || a.request.MaxWait > 0, began: a.now, done: make(chan struct{})}
	if r.id == "" && r.background && !a.request.Shared {
		r.id = d.NewID()
	}
	r.named = r.id != ""
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runs.removeExpired(d.Now())
	if r.named {
		if err := d.runs.admit(r); err != nil {
			return nil, err
		}
	}
	r.computation, r.joined = d.join(a, r.named)
	r.ctx, r.cancel = context.WithCancelCause(d.ctx)
	d.wg.Go(r.follow)
	return r, nil
}

// admit adds a named run, unless its name is in use or the project has too many background
// runs.
func (l *runs) admit(r *run) error {
	name, n := runName{r.project, r.id}, 0
	for _, other := range l.byName {
		if other.project == r.project && other.background && !other.isDone() {
			n++
		}
	}
	old := l.byName[name]
	switch {
	case old != nil && !old.isDone():
		return errConflict(r.id)
	case r.background && n >= maxBackground:
		return errBusy("%d queries of the project are already running.", maxBackground)
	case l.byName == nil:
		l.byName = map[runName]*run{}
	}
	l.byName[name] = r
	return nil
}

// removeExpired removes ended runs that are too old or exceed the limits.
func (l *runs) removeExpired(now time.Time) {
	for len(l.ended) > 0 && (len(l.ended) > maxEndedRuns || l.bytes > maxEndedBytes || now.Sub(l.ended[0].ended) > runTTL) {
		r := l.ended[0]
		l.ended = l.ended[1:]
		if r.entry != nil {
			l.bytes -= r.entry.size
		}
		l.remove(r)
	}
}

// remove removes a run, unless its name has been assigned to another run since.
func (l *runs) remove(r *run) {
	if name := (runName{r.project, r.id}); l.byName[name] == r {
		delete(l.byName, name)
	}
}

// isDone reports whether the run has ended.
func (r *run) isDone() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// follow waits for the end of the run, stores the result and closes done. It runs in a
// goroutine of its own.
func (r *run) follow() {
	defer r.cancel(nil)
	entry, err := r.wait()
	if err != nil {
		r.service.release(r.computation, err)
	}
	d := r.service
	r.statusMu.Lock()
	r.entry, r.err, r.ended = entry, err, d.Now()
	r.statusMu.Unlock()
	r.updateStored(r.ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.named {
		d.runs.ended = append(d.runs.ended, r)
		if entry != nil {
			d.runs.bytes += entry.size
		}
	}
	close(r.done)
}

// wait waits for the computation: at first until the scheduler starts it, then until it ends.
// Both times are limited.
func (r *run) wait() (*entry, error) {
	limits := r.service.Limits
	timeout, turn := limits.Timeout, waitTime
	if r.background {
		timeout, turn = limits.AsyncTimeout, limits.AsyncTimeout
	}
	timer := time.NewTimer(turn)
	defer timer.Stop()
	picked, timeoutErr := r.computation.picked, error(errBusy("The query could not start within %g s: too many queries are running on this server or in this project.", turn.Seconds()))
	for {
		select {
		case <-r.computation.done:
			return r.computation.entry, r.computation.err
		case <-r.ctx.Done():
			return nil, context.Cause(r.ctx)
		case <-timer.C:
			return nil, timeoutErr
		case <-picked:
			picked, timeoutErr = nil, errTimeout(timeout)
			timer.Reset(timeout)
		}
	}
}

// optionalStamp formats a time for responses. It returns nil for the zero time.
func optionalStamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := stamp(t)
	return &text
}

// status returns the current status of the run. The caller must hold r.statusMu.
func (r *run) status(withProgress bool) *Status {
	s := &Status{ID: r.id, Async: true, Team: r.project, Start: optionalStamp(r.began)}
	now, picked := r.service.Now(), time.Time{}
	select {
	case <-r.computation.picked:
		picked = r.computation.pickedAt
		s.Pickup = optionalStamp(picked)
	default:
	}
	if !r.ended.IsZero() {
		now = r.ended
		s.end(r.ended)
		s.Failed = r.err != nil
		if r.entry != nil {
			s.Results = r.entry.response(r.joined)
		}
		if s.ClientError = isClientError(r.err); s.ClientError {
			text := detailOf(r.err)
			s.ErrorMessage = &text
		}
	}
	if withProgress {
		rows := r.computation.rows.Load()
		s.Progress = &progress{RowsRead: rows, EstimatedRows: max(rows, r.computation.estimated.Load()), TimeElapsed: now.Sub(r.began).Milliseconds()}
		if !picked.IsZero() {
			s.Progress.ActiveCPUTime = now.Sub(picked).Milliseconds()
		}
	}
	return s
}

// detailOf returns the message of an error that may be shown to clients, or the empty string.
func detailOf(err error) string {
	var wrong *port.Error
	var ours *Error
	switch {
	case errors.As(err, &wrong):
		return wrong.Detail
	case errors.As(err, &ours):
		return ours.Detail
	}
	return ""
}

// Status returns the status of a run, with its progress if progress is true. If there is no
// such run, the error is an *Error of the kind NotFound.
func (d *Service) Status(ctx context.Context, project int64, id string, progress bool) (*Status, error) {
	r, stored, err := d.find(ctx, project, id)
	var s *Status
	switch {
	case err != nil:
	case r != nil:
		r.statusMu.Lock()
		defer r.statusMu.Unlock()
		return r.status(progress), nil
	case stored != nil:
		s, err = stored.status(d.Now(), progress)
	}
	if s == nil && err == nil {
		err = &Error{Kind: NotFound, Detail: fmt.Sprintf("Query %s not found for team %d", id, project)}
	}
	return s, err
}

// These are the messages that Cancel returns.
const (
	completed = "Query already completed"
	cancelled = "Query cancelled"
)

// Cancel ends a run and returns a message about the outcome for the client.
func (d *Service) Cancel(ctx context.Context, project int64, id string) (message string, err error) {
	r, stored, err := d.find(ctx, project, id)
	switch {
	case err != nil:
		return "", err
	case r != nil && r.isDone():
		return completed, nil
	case r != nil:
		r.cancel(errCancelled)
		<-r.done
		return cancelled, nil
	case stored != nil:
		return d.cancelStored(ctx, stored)
	}
	return "Query not found", nil
}
