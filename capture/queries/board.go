package queries

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

const (
	// publishInterval is the interval in which a server stores the state of its runs, and
	// notices that one was canceled.
	publishInterval = 500 * time.Millisecond
	// lostAfter is the time without an update after which the server of a run is assumed to
	// be dead. It permits clocks to differ by half a minute.
	lostAfter = time.Minute
	// maxStoredResult is the greatest length of a result that is available on other servers,
	// in bytes.
	maxStoredResult = 8 << 20
	// storeTimeout is the timeout for storing the state of a run.
	storeTimeout = 5 * time.Second
	// sweepInterval is the interval in which old runs are deleted.
	sweepInterval = time.Minute
)

// storedStatus is the JSON form of StoredRun.Status.
type storedStatus struct {
	*Status
	ClientError bool `json:"question"`
	Large       bool `json:"large,omitempty"` // the result is only available on the run's server
}

// toStored returns the state of a run in the form in which it is stored. The caller must hold
// r.statusMu.
func (r *run) toStored(now time.Time) *StoredRun {
	s := r.status(true)
	out := &StoredRun{Project: r.project, ID: r.id, Server: r.service.server, Seen: now, Ended: s.Complete}
	large := false
	if s.Results != nil {
		out.Result = wire.MustEncode(s.Results)
		if large = len(out.Result) > maxStoredResult; large {
			out.Result = nil
		}
		s.Results = nil
	}
	out.Status = wire.MustEncode(storedStatus{Status: s, ClientError: s.ClientError, Large: large})
	return out
}

// publish stores a run that has just begun, so that other servers can find it. If that fails,
// or the name is in use, the run is canceled and publish returns the error.
func (r *run) publish(ctx context.Context) error {
	d := r.service
	if d.RunStore == nil {
		return nil
	}
	now := d.Now()
	r.statusMu.Lock()
	isNew, err := d.RunStore.BeginRun(ctx, r.toStored(now), now.Add(-lostAfter), RunBounds{Before: now.Add(-runTTL), Count: maxEndedRuns, Bytes: maxEndedBytes})
	r.published = isNew && err == nil
	r.statusMu.Unlock()
	if err == nil && !isNew {
		err = errConflict(r.id)
	}
	if err != nil {
		r.cancel(err)
		<-r.done
		d.mu.Lock()
		d.runs.remove(r)
		d.mu.Unlock()
	}
	return err
}

// updateStored stores the current state of a run. If another server has ended the run, it is
// canceled.
func (r *run) updateStored(ctx context.Context) {
	r.statusMu.Lock()
	defer r.statusMu.Unlock()
	if !r.published {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	active, err := r.service.RunStore.UpdateRun(ctx, r.toStored(r.service.Now()))
	if err == nil && !active {
		r.cancel(errCancelled)
	}
}

// updateStoredRuns stores the state of all runs periodically, and deletes old runs. It
// returns when the service is closed.
func (d *Service) updateStoredRuns() {
	ticks := time.NewTicker(publishInterval)
	defer ticks.Stop()
	var swept time.Time
	for {
		if now := d.Now(); now.Sub(swept) >= sweepInterval {
			swept = now
			_ = d.RunStore.DeleteRuns(d.ctx, now.Add(-runTTL)) // after an error, the next sweep retries
		}
		select {
		case <-ticks.C:
		case <-d.ctx.Done():
			return
		}
		for _, r := range d.activeRuns() {
			r.updateStored(d.ctx)
		}
	}
}

// activeRuns returns the runs of this server that have not ended.
func (d *Service) activeRuns() (out []*run) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.runs.byName {
		if !r.isDone() {
			out = append(out, r)
		}
	}
	return out
}

// find returns a run: the run itself if it belongs to this server, or else its stored state.
// Both are nil if there is no such run.
func (d *Service) find(ctx context.Context, project int64, id string) (*run, *StoredRun, error) {
	var stored *StoredRun
	if d.RunStore != nil {
		var err error
		if stored, err = d.RunStore.Run(ctx, project, id); err != nil {
			return nil, nil, err
		}
		switch {
		case stored == nil:
		case stored.Server != d.server && stored.Seen.Before(d.Now().Add(-runTTL)):
			return nil, nil, nil
		case stored.Server != d.server:
			return nil, stored, nil
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runs.removeExpired(d.Now())
	return d.runs.byName[runName{project, id}], stored, nil
}

// status returns the status of a run of another server. It returns nil if the result is only
// available on that server. progress determines whether the status includes the progress. If
// the server has died, the status is that of a failed run.
func (t *StoredRun) status(now time.Time, progress bool) (*Status, error) {
	decoded := storedStatus{Status: new(Status)}
	if err := json.Unmarshal(t.Status, &decoded); err != nil {
		return nil, fmt.Errorf("queries: the status of a run: %w", err)
	}
	s := decoded.Status
	s.ClientError = decoded.ClientError
	if !progress {
		s.Progress = nil
	}
	switch {
	case decoded.Large:
		return nil, nil
	case t.Ended && t.Result != nil:
		var members map[string]json.RawMessage
		if err := json.Unmarshal(t.Result, &members); err != nil {
			return nil, fmt.Errorf("queries: the result of a run: %w", err)
		}
		s.Results = make(map[string]any, len(members))
		for name, v := range members {
			s.Results[name] = v
		}
	case !t.Ended && t.isLost(now):
		s.end(t.Seen)
		text := "The server that ran the query has stopped: run the query again."
		s.Failed, s.ErrorMessage = true, &text
	}
	return s, nil
}

// isLost reports whether the server of a run that has not ended is assumed to be dead.
func (t *StoredRun) isLost(now time.Time) bool { return t.Seen.Before(now.Add(-lostAfter)) }

// end sets the fields of a run that ended at the time t.
func (s *Status) end(t time.Time) {
	s.Complete, s.End, s.Expiration = true, optionalStamp(t), optionalStamp(t.Add(runTTL))
}

// cancelStored ends a run of another server, which notices it with its next update. It
// returns the message for the caller.
func (d *Service) cancelStored(ctx context.Context, t *StoredRun) (string, error) {
	now := d.Now()
	if t.Ended || t.isLost(now) {
		return completed, nil
	}
	s, err := t.status(now, true)
	if err != nil {
		return "", err
	}
	text := errCancelled.Detail
	s.end(now)
	s.Failed, s.ErrorMessage = true, &text
	t.Seen, t.Ended, t.Status = now, true, wire.MustEncode(storedStatus{Status: s, ClientError: true})
	switch active, err := d.RunStore.UpdateRun(ctx, t); {
	case err != nil:
		return "", err
	case !active:
		return completed, nil
	}
	return cancelled, nil
}
