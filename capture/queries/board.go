package queries

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Runs keeps what is known of runs for all servers of a database (§1.5).
type Runs interface {
	// BeginRun keeps a run that is not kept yet, or anew one whose name is no longer
	// used: it has ended, or was not seen since unseen. False: one of that name goes
	// on. It takes away what is over its bounds.
	BeginRun(ctx context.Context, r *StoredRun, unseen time.Time, b RunBounds) (bool, error)
	// UpdateRun keeps how a run of r.Server stands. False: it does not go on, as where
	// it was ended by another server.
	UpdateRun(ctx context.Context, r *StoredRun) (bool, error)
	// Run finds a run, nil where there is none.
	Run(ctx context.Context, project int64, id string) (*StoredRun, error)
	// ForgetRuns takes away all that were last seen before a time.
	ForgetRuns(ctx context.Context, before time.Time) error
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
	// beat is how often a server tells of its runs, and hears that one was cancelled.
	beat = 500 * time.Millisecond
	// goneAfter is when a server that does not tell of a run is taken for dead. Clocks
	// may differ by half a minute.
	goneAfter = time.Minute
	// maxShared is the most bytes of a result that other servers can give.
	maxShared = 8 << 20
	// storeTime is how long a server waits to tell of the end of a run.
	storeTime = 5 * time.Second
	// sweepEach is how often what is old is taken away.
	sweepEach = time.Minute
)

// storedStatus is StoredRun.Status.
type storedStatus struct {
	*Status
	Question bool `json:"question"`
	Large    bool `json:"large,omitempty"` // the result is kept by the server alone
}

// stored is a run as others hear of it. Its lock is held.
func (r *run) stored(now time.Time) *StoredRun {
	s := r.status(true)
	out := &StoredRun{Project: r.project, ID: r.id, Server: r.desk.server, Seen: now, Ended: s.Complete}
	large := false
	if s.Results != nil {
		out.Result = wire.MustEncode(s.Results)
		if large = len(out.Result) > maxShared; large {
			out.Result = nil
		}
		s.Results = nil
	}
	out.Status = wire.MustEncode(storedStatus{Status: s, Question: s.Question, Large: large})
	return out
}

// publish makes a run known to all servers. An error is the end of the run.
func (r *run) publish(ctx context.Context) error {
	d := r.desk
	if d.Runs == nil {
		return nil
	}
	now := d.Now()
	r.telling.Lock()
	fresh, err := d.Runs.BeginRun(ctx, r.stored(now), now.Add(-goneAfter), RunBounds{Before: now.Add(-keptFor), Count: keptRuns, Bytes: keptBytes})
	r.shared = fresh && err == nil
	r.telling.Unlock()
	if err == nil && !fresh {
		err = errConflict(r.id)
	}
	if err != nil {
		r.cancel(err)
		<-r.done
		d.mu.Lock()
		d.runs.drop(r)
		d.mu.Unlock()
	}
	return err
}

// tell says how a run stands, and ends it where another server has.
func (r *run) tell(ctx context.Context) {
	r.telling.Lock()
	defer r.telling.Unlock()
	if !r.shared {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	goesOn, err := r.desk.Runs.UpdateRun(ctx, r.stored(r.desk.Now()))
	if err == nil && !goesOn {
		r.cancel(errCancelled)
	}
}

// tellOthers tells of all runs again and again, and takes away what is old.
func (d *Desk) tellOthers() {
	ticks := time.NewTicker(beat)
	defer ticks.Stop()
	var swept time.Time
	for {
		if now := d.Now(); now.Sub(swept) >= sweepEach {
			swept = now
			_ = d.Runs.ForgetRuns(d.ctx, now.Add(-keptFor)) // again in a minute
		}
		select {
		case <-ticks.C:
		case <-d.ctx.Done():
			return
		}
		for _, r := range d.going() {
			r.tell(d.ctx)
		}
	}
}

// going are the runs that have not ended.
func (d *Desk) going() (out []*run) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.runs.byName {
		if !r.over() {
			out = append(out, r)
		}
	}
	return out
}

// find looks for a run, here or told of by another server. Both are nil where there
// is none.
func (d *Desk) find(ctx context.Context, project int64, id string) (*run, *StoredRun, error) {
	var told *StoredRun
	if d.Runs != nil {
		var err error
		if told, err = d.Runs.Run(ctx, project, id); err != nil {
			return nil, nil, err
		}
		switch {
		case told == nil:
		case told.Server != d.server && told.Seen.Before(d.Now().Add(-keptFor)):
			return nil, nil, nil
		case told.Server != d.server:
			return nil, told, nil
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runs.forget(d.Now())
	return d.runs.byName[runName{project, id}], told, nil
}

// status is what another server has told of a run; nil: it keeps the result to itself.
func (t *StoredRun) status(now time.Time, progress bool) (*Status, error) {
	of := storedStatus{Status: new(Status)}
	if err := json.Unmarshal(t.Status, &of); err != nil {
		return nil, fmt.Errorf("queries: the status of a run: %w", err)
	}
	s := of.Status
	s.Question = of.Question
	if !progress {
		s.Progress = nil
	}
	switch {
	case of.Large:
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
	case !t.Ended && t.gone(now):
		s.end(t.Seen)
		text := "The server that ran the query is gone: ask again."
		s.Failed, s.ErrorMessage = true, &text
	}
	return s, nil
}

// gone says whether the server of a run that goes on has died.
func (t *StoredRun) gone(now time.Time) bool { return t.Seen.Before(now.Add(-goneAfter)) }

// end makes a status that of a run that has ended.
func (s *Status) end(at time.Time) {
	s.Complete, s.End, s.Expiration = true, optionalStamp(at), optionalStamp(at.Add(keptFor))
}

// cancelElsewhere ends a run of another server, which hears of it with its next beat.
func (d *Desk) cancelElsewhere(ctx context.Context, t *StoredRun) (string, error) {
	now := d.Now()
	if t.Ended || t.gone(now) {
		return completed, nil
	}
	s, err := t.status(now, true)
	if err != nil {
		return "", err
	}
	text := errCancelled.Detail
	s.end(now)
	s.Failed, s.ErrorMessage = true, &text
	t.Seen, t.Ended, t.Status = now, true, wire.MustEncode(storedStatus{Status: s, Question: true})
	switch going, err := d.Runs.UpdateRun(ctx, t); {
	case err != nil:
		return "", err
	case !going:
		return completed, nil
	}
	return cancelled, nil
}
