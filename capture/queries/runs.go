package queries

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/capture/insights"
)

const (
	// maxBackground is how many runs of a project go on behind requests (§5.4).
	maxBackground = 20
	// keptFor is how long a run that has ended is known, keptRuns and keptBytes bound
	// how many are and how large their results are together: the oldest go.
	keptFor   = 20 * time.Minute
	keptRuns  = 1000
	keptBytes = 64 << 20
)

// run is one caller's use of a computation.
type run struct {
	desk       *Desk
	of         *computation
	id         string
	project    int64
	background bool
	named      bool // others may ask for it
	joined     bool
	began      time.Time
	ctx        context.Context
	cancel     context.CancelCauseFunc

	done chan struct{} // closed when the rest is there

	telling sync.Mutex // of the others, one after the other; over what follows
	shared  bool       // others know of it
	ended   time.Time
	entry   *entry
	err     error
}

type runName struct {
	project int64
	id      string
}

// runs are those that can be asked for.
type runs struct {
	byName map[runName]*run
	ended  []*run // in the order of their end
	bytes  int64
}

// start begins a run.
func (d *Desk) start(a *asked, background bool) (*run, error) {
	r := &run{desk: d, id: a.request.ID, project: a.request.Project.ID, background: background || a.request.Patience > 0, began: a.now, done: make(chan struct{})}
	if r.id == "" && r.background && !a.request.Shared {
		r.id = d.NewID()
	}
	r.named = r.id != ""
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runs.forget(d.Now())
	if r.named {
		if err := d.runs.admit(r); err != nil {
			return nil, err
		}
	}
	r.of, r.joined = d.join(a, r.named)
	r.ctx, r.cancel = context.WithCancelCause(d.ctx)
	d.wg.Go(r.follow)
	return r, nil
}

// admit keeps a run under its name.
func (l *runs) admit(r *run) error {
	name, n := runName{r.project, r.id}, 0
	for _, other := range l.byName {
		if other.project == r.project && other.background && !other.over() {
			n++
		}
	}
	old := l.byName[name]
	switch {
	case old != nil && !old.over():
		return errConflict(r.id)
	case r.background && n >= maxBackground:
		return errBusy("%d queries of the project go on already.", maxBackground)
	case l.byName == nil:
		l.byName = map[runName]*run{}
	}
	l.byName[name] = r
	return nil
}

// forget takes runs away that have ended long ago.
func (l *runs) forget(now time.Time) {
	for len(l.ended) > 0 && (len(l.ended) > keptRuns || l.bytes > keptBytes || now.Sub(l.ended[0].ended) > keptFor) {
		r := l.ended[0]
		l.ended = l.ended[1:]
		if r.entry != nil {
			l.bytes -= r.entry.size
		}
		l.drop(r)
	}
}

// drop takes a run's name from it.
func (l *runs) drop(r *run) {
	if name := (runName{r.project, r.id}); l.byName[name] == r {
		delete(l.byName, name)
	}
}

func (r *run) over() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// follow waits for the end of the run.
func (r *run) follow() {
	defer r.cancel(nil)
	entry, err := r.wait()
	if err != nil {
		r.desk.leave(r.of, err)
	}
	d := r.desk
	r.telling.Lock()
	r.entry, r.err, r.ended = entry, err, d.Now()
	r.telling.Unlock()
	r.tell(r.ctx)
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

// wait waits for the computation, so long for its turn and then so long for its end.
func (r *run) wait() (*entry, error) {
	limits := r.desk.Limits
	timeout, turn := limits.Timeout, waitTime
	if r.background {
		timeout, turn = limits.AsyncTimeout, limits.AsyncTimeout
	}
	timer := time.NewTimer(turn)
	defer timer.Stop()
	picked, late := r.of.picked, error(errBusy("No turn came within %g s: too many queries run on this server or in this project.", turn.Seconds()))
	for {
		select {
		case <-r.of.done:
			return r.of.entry, r.of.err
		case <-r.ctx.Done():
			return nil, context.Cause(r.ctx)
		case <-timer.C:
			return nil, late
		case <-picked:
			picked, late = nil, errTimeout(timeout)
			timer.Reset(timeout)
		}
	}
}

// Status is what is known of a run (§1.5).
type Status struct {
	ID           string         `json:"id"`
	Async        bool           `json:"query_async"`
	Team         int64          `json:"team_id"`
	Insight      *int64         `json:"insight_id"`
	Dashboard    *int64         `json:"dashboard_id"`
	Failed       bool           `json:"error"`
	ErrorMessage *string        `json:"error_message"`
	Complete     bool           `json:"complete"`
	Results      map[string]any `json:"results"`
	Start        *string        `json:"start_time"`
	Pickup       *string        `json:"pickup_time"`
	End          *string        `json:"end_time"`
	Expiration   *string        `json:"expiration_time"`
	Task         *string        `json:"task_id"`
	Labels       []string       `json:"labels"`
	Progress     *Progress      `json:"query_progress"`

	// Question: what failed is the question's fault, or a limit.
	Question bool `json:"-"`
}

// Progress is how far a run has come (§5.5); times are in milliseconds.
type Progress struct {
	BytesRead     int64 `json:"bytes_read"`
	RowsRead      int64 `json:"rows_read"`
	EstimatedRows int64 `json:"estimated_rows_total"`
	TimeElapsed   int64 `json:"time_elapsed"`
	ActiveCPUTime int64 `json:"active_cpu_time"`
}

func optionalStamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := stamp(t)
	return &text
}

// status is how a run stands; its lock is held.
func (r *run) status(progress bool) *Status {
	s := &Status{ID: r.id, Async: true, Team: r.project, Start: optionalStamp(r.began)}
	now, picked := r.desk.Now(), time.Time{}
	select {
	case <-r.of.picked:
		picked = r.of.pickedAt
		s.Pickup = optionalStamp(picked)
	default:
	}
	if !r.ended.IsZero() {
		now = r.ended
		s.end(r.ended)
		s.Failed = r.err != nil
		if r.entry != nil {
			s.Results = r.entry.show(r.joined)
		}
		if s.Question = isQuestion(r.err); s.Question {
			text := detailOf(r.err)
			s.ErrorMessage = &text
		}
	}
	if progress {
		rows := r.of.rows.Load()
		s.Progress = &Progress{RowsRead: rows, EstimatedRows: max(rows, r.of.guessed.Load()), TimeElapsed: now.Sub(r.began).Milliseconds()}
		if !picked.IsZero() {
			s.Progress.ActiveCPUTime = now.Sub(picked).Milliseconds()
		}
	}
	return s
}

func detailOf(err error) string {
	var wrong *insights.Error
	var ours *Error
	switch {
	case errors.As(err, &wrong):
		return wrong.Detail
	case errors.As(err, &ours):
		return ours.Detail
	}
	return ""
}

// Status tells of a run; an *Error of NotFound where there is none of that name.
func (d *Desk) Status(ctx context.Context, project int64, id string, progress bool) (*Status, error) {
	r, told, err := d.find(ctx, project, id)
	var s *Status
	switch {
	case err != nil:
	case r != nil:
		r.telling.Lock()
		defer r.telling.Unlock()
		return r.status(progress), nil
	case told != nil:
		s, err = told.status(d.Now(), progress)
	}
	if s == nil && err == nil {
		err = &Error{Kind: NotFound, Detail: fmt.Sprintf("Query %s not found for team %d", id, project)}
	}
	return s, err
}

// What Cancel says.
const (
	completed = "Query already completed"
	cancelled = "Query cancelled"
)

// Cancel ends a run, and says what became of that.
func (d *Desk) Cancel(ctx context.Context, project int64, id string) (message string, err error) {
	r, told, err := d.find(ctx, project, id)
	switch {
	case err != nil:
		return "", err
	case r != nil && r.over():
		return completed, nil
	case r != nil:
		r.cancel(errCancelled)
		<-r.done
		return cancelled, nil
	case told != nil:
		return d.cancelElsewhere(ctx, told)
	}
	return "Query not found", nil
}
