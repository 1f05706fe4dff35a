package queries

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// RunStore keeps what is known of runs for all servers of a database (§1.5).
type RunStore interface {
	// BeginRun keeps a run that is not kept yet, or anew one whose name is no longer
	// used: it has ended, or was not seen since unseen. False: one of that name goes
	// on. It takes away what is over its bounds.
	BeginRun(ctx context.Context, r *StoredRun, unseen time.Time, b RunBounds) (bool, error)
	// UpdateRun keeps how a run of r.Server stands. False: it does not go on, as where
	// it was ended by another server.
	UpdateRun(ctx context.Context, r *StoredRun) (bool, error)
	// Run finds a run, nil where there is none.
	Run(ctx context.Context, project int64, id string) (*StoredRun, error)
	// DeleteRuns takes away all that were last seen before a time.
	DeleteRuns(ctx context.Context, before time.Time) error
}

// StoredRun is a run as the servers tell each other of it.
type StoredRun struct {
	Project int64
	ID      string
	Server  string    // that carries it out
	Seen    time.Time // last; of one that has ended, its end
	Ended   bool
	Status  json.RawMessage
	// Result is the body of the answer, nil where there is none or it is kept by
	// Server alone.
	Result json.RawMessage
}

// RunBounds are what is kept of runs: none last seen before Before, and of a project
// so many that have ended, with so many bytes of results.
type RunBounds struct {
	Before time.Time
	Count  int
	Bytes  int64
}

const (
	// publishInterval is how often a server tells of its runs, and hears that one was cancelled.
	publishInterval = 500 * time.Millisecond
	// lostAfter is when a server that does not tell of a run is taken for dead. Clocks
	// may differ by half a minute.
	lostAfter = time.Minute
	// maxStoredResult is the most bytes of a result that other servers can give.
	maxStoredResult = 8 << 20
	// storeTimeout is how long a server waits to tell of the end of a run.
	storeTimeout = 5 * time.Second
	// sweepInterval is how often what is old is taken away.
	sweepInterval = time.Minute
)

// storedStatus is StoredRun.Status.
type storedStatus struct {
	*Status
	ClientError bool `json:"question"`
	Large       bool `json:"large,omitempty"` // the result is kept by the server alone
}

// toStored is a run as others hear of it. Its lock is held.
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

// publish makes a run known to all servers. An error is the end of the run.
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

// updateStored says how a run stands, and ends it where another server has.
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

// updateStoredRuns tells of all runs again and again, and takes away what is old.
func (d *Service) updateStoredRuns() {
	ticks := time.NewTicker(publishInterval)
	defer ticks.Stop()
	var swept time.Time
	for {
		if now := d.Now(); now.Sub(swept) >= sweepInterval {
			swept = now
			_ = d.RunStore.DeleteRuns(d.ctx, now.Add(-runTTL)) // again in a minute
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

// activeRuns are the runs that have not ended.
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

// find looks for a run, here or told of by another server. Both are nil where there
// is none.
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

// status is what another server has told of a run; nil: it keeps the result to itself.
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
		text := "The server that ran the query is gone: ask again."
		s.Failed, s.ErrorMessage = true, &text
	}
	return s, nil
}

// isLost says whether the server of a run that goes on has died.
func (t *StoredRun) isLost(now time.Time) bool { return t.Seen.Before(now.Add(-lostAfter)) }

// end makes a status that of a run that has ended.
func (s *Status) end(t time.Time) {
	s.Complete, s.End, s.Expiration = true, optionalStamp(t), optionalStamp(t.Add(runTTL))
}

// cancelStored ends a run of another server, which hears of it with its next beat.
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
