package batchexports

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/records"
)

// The engine runs exports. A run is stored in the task (task.go) before it begins. A server that
// finds a run with an expired lease executes it again, with the same id and the same Span.

// RunExports runs the exports that are due at each tick, until ctx ends. It calls failed with
// errors of the store, from several goroutines; errors of destinations are stored in the runs. It
// returns at once if the Config has no Runner or no Rows.
func (s Service) RunExports(ctx context.Context, ticks <-chan time.Time, failed func(error)) {
	if s.Runner == nil || s.Rows == nil {
		return
	}
	var workers sync.WaitGroup
	for range exportWorkers {
		workers.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-ticks:
				}
				for more := true; more && ctx.Err() == nil; {
					var err error
					if more, err = s.Work(ctx); err != nil && ctx.Err() == nil {
						failed(fmt.Errorf("batch exports: %w", err))
						more = false
					}
				}
			}
		})
	}
	workers.Wait()
}

// Work runs the next export that is due, and reports whether there was one.
func (s Service) Work(ctx context.Context) (bool, error) {
	if s.Runner == nil || s.Rows == nil {
		return false, errNoExports()
	}
	export, err := s.nextDue(ctx)
	if err != nil || export == "" {
		return false, err
	}
	h, err := s.claim(ctx, export)
	if err != nil || h == nil {
		return err == nil, err // another server has claimed it
	}
	if h.task.Run == "" {
		err = s.begin(ctx, h)
	}
	if err == nil && h.run != nil {
		err = s.attempt(ctx, h)
	}
	return true, errors.Join(err, s.release(ctx, h))
}

// maxScanned is the greatest number of exports that Failing examines.
const maxScanned = 200

// Failing returns the names of exports that are not paused and whose newest finished run has
// failed, and the number of exports. It examines at most maxScanned exports.
func (s Service) Failing(ctx context.Context) (names []string, total int, err error) {
	err = s.Env.Store.Read(ctx, func(tx management.Tx) error {
		list, err := management.ListRecords[exportTask](tx, management.Query{Kind: kindExportTask, Limit: maxScanned})
		if err != nil {
			return err
		}
		total = list.Count
		for i := range list.Results {
			e, err := exportByID(tx, list.Results[i].Export)
			if err != nil {
				return err
			}
			if e == nil || e.Paused {
				continue
			}
			runs, err := management.ListRecords[exportRun](tx, management.Query{Kind: kindExportRun, Parent: e.ID, Descending: true, Limit: latestRuns})
			if err != nil {
				return err
			}
			finished := slices.IndexFunc(runs.Results, func(r exportRun) bool { return !isActive(r.Status) })
			if finished >= 0 && isFailure(runs.Results[finished].Status) {
				names = append(names, e.Name)
			}
		}
		return nil
	})
	return names, total, err
}

// nextDue returns the id of the export that has been due for the longest time, or "".
func (s Service) nextDue(ctx context.Context) (string, error) {
	return management.Read(ctx, &s.Env, func(tx management.Tx) (string, error) {
		t, err := records.NextDue[exportTask](tx, management.Query{Kind: kindExportTask}, s.Env.Now())
		if err != nil || t == nil {
			return "", err
		}
		return t.Export, nil
	})
}

// claim acquires the lease of an export. It returns nil if another server has the lease, or if the
// export is not due.
func (s Service) claim(ctx context.Context, export string) (*claimedRun, error) {
	return management.Write(ctx, &s.Env, func(tx management.Tx) (*claimedRun, error) {
		now := s.Env.Now()
		h := &claimedRun{owner: s.Env.NewID()}
		var err error
		if h.export, err = exportByID(tx, export); err != nil {
			return nil, err
		}
		project := (*management.ProjectRecord)(nil)
		if h.export != nil {
			if project, err = tx.Project(h.export.Team); err != nil {
				return nil, err
			}
		}
		if project == nil { // the project is deleted
			return nil, tx.Delete(kindExportTask, "", export)
		}
		if h.task, err = taskOf(tx, export); err != nil {
			return nil, err
		}
		if h.task.Owner != "" && h.task.Until.After(now) {
			return nil, nil
		}
		// The lease has expired, or there was none. due must compute the time without it.
		h.task.Owner = ""
		due, hasWork, err := s.due(tx, h.export, h.task)
		if err != nil {
			return nil, err
		}
		// Storing the task corrects the time at which it is due.
		if !hasWork || due.After(now) {
			return nil, s.putTask(tx, h.export, h.task)
		}
		if h.task.Run != "" {
			if h.run, err = s.resumeRun(tx, h); err != nil {
				return nil, err
			}
		}
		h.task.Owner, h.task.Until = h.owner, management.NewStamp(now.Add(exportLease))
		return h, s.putTask(tx, h.export, h.task)
	})
}

// resumeRun returns the current run of a task, in order to repeat it. If the run was cancelled, it
// advances the task and returns nil.
func (s Service) resumeRun(tx management.Tx, h *claimedRun) (*exportRun, error) {
	r, err := runOf(tx, h.task.Export, h.task.Run)
	if err != nil {
		return nil, err
	}
	if r != nil && isActive(r.Status) {
		r.addLog(s.Env.Now(), "INFO", "The run is retried.")
		return r, putRun(tx, r)
	}
	if r != nil {
		err = s.advance(tx, h.export, h.task, r, r.positionAfter())
	}
	h.task.Run, h.task.Backfill = "", ""
	return nil, err
}

// begin creates the next run, unless none is due. It determines the run's data before the
// transaction that stores the run.
func (s Service) begin(ctx context.Context, h *claimedRun) error {
	p, err := s.planRun(ctx, h)
	if err != nil || p == nil {
		return err
	}
	return s.Env.Store.Write(ctx, func(tx management.Tx) error {
		t, err := s.checkLease(tx, h)
		if err != nil {
			return err
		}
		// The task may have changed since planRun has read it.
		if p.backfill == nil && !t.Position.equals(h.task.Position) {
			return nil // it was unpaused meanwhile: plan again
		}
		if p.backfill != nil {
			if active, err := s.beginBackfill(tx, t.Export, p.backfill.ID); err != nil || !active {
				return err // it was cancelled
			}
			t.Backfill = p.backfill.ID
		}
		now := management.NewStamp(s.Env.Now())
		r := &exportRun{
			BatchExportRun: BatchExportRun{BatchExport: t.Export, Status: exportRunning, From: management.NewStamp(p.from), To: management.NewStamp(p.to), Created: now, Updated: now},
			Span:           p.span,
		}
		if t.Backfill != "" {
			r.Backfill = &t.Backfill
		}
		// The id follows from what the run covers, so a repeated run has the same one.
		r.ID = exportID("run", t.Export, t.Backfill, r.From.String(), r.To.String())
		if r.Writes = p.writes; r.Writes == "" {
			r.Writes = r.ID
		}
		if r.Number, err = tx.Next(kindExportRun); err != nil {
			return err
		}
		r.addLog(now.Time, "INFO", "The run started.")
		if err := putRun(tx, r); err != nil {
			return err
		}
		t.Run, t.NotBefore = r.ID, management.Stamp{}
		h.run, h.task = r, t
		return s.putTask(tx, h.export, t)
	})
}

// beginBackfill marks a backfill as running. It reports whether the backfill is active.
func (s Service) beginBackfill(tx management.Tx, export, id string) (active bool, err error) {
	b, err := backfillOf(tx, export, id)
	if err != nil || b == nil || !isActive(b.Status) {
		return false, err
	}
	if b.Status == exportStarting {
		b.Status, b.Updated = exportRunning, management.NewStamp(s.Env.Now())
		err = putBackfill(tx, b)
	}
	return err == nil, err
}

// release releases the lease.
func (s Service) release(ctx context.Context, h *claimedRun) error {
	err := s.Env.Store.Write(context.WithoutCancel(ctx), func(tx management.Tx) error {
		t, err := s.checkLease(tx, h)
		if err != nil {
			return err
		}
		e, err := exportByID(tx, t.Export)
		if err != nil || e == nil {
			return err
		}
		t.Owner, t.Until = "", management.Stamp{}
		return s.putTask(tx, e, t)
	})
	if errors.Is(err, errLeaseLost) {
		return nil
	}
	return err
}
