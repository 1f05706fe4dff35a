package rollouts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/capture/guarded"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// kindEvaluation is the kind of the stored evaluations: Parent is the rollout, Sort the time.
const kindEvaluation = "guarded_rollout_evaluation"

const (
	// evaluationTimeout limits the query of one evaluation. evaluationClaimTime is the time after
	// which a claimed rollout is due again; by then, the evaluation has ended or its server has
	// stopped.
	evaluationTimeout   = time.Minute
	evaluationClaimTime = 2 * time.Minute
	// evaluationSaveInterval is the interval of stored evaluations while the decision stays the
	// same.
	evaluationSaveInterval = time.Hour
)

// rolloutSnapshot is the state of a rollout and its flag at the beginning of one evaluation.
type rolloutSnapshot struct {
	task *rolloutTask
	// fault is the reason why the rollout cannot be evaluated, such as damaged data. Then the
	// following fields are not set.
	fault   error
	project *management.ProjectRecord
	rollout *storedRollout
	plan    *rolloutPlan
	query   json.RawMessage
	version int64 // of the flag
	now     time.Time
	state   guarded.Situation
}

// EvaluateDue evaluates the rollouts that are due, one after another, and reports whether there may
// be more. Several servers may call it concurrently. A step, the version of the flag and the
// notices are written in one transaction, and only if the rollout and the flag have not changed
// since the evaluation began. So each step happens exactly once, even if a server is killed
// (experiments.md §4.12). All times are those of the store's clock, so the clocks of the servers
// may differ.
func (s Service) EvaluateDue(ctx context.Context) (more bool, err error) {
	if s.Measure == nil {
		return false, nil
	}
	return records.RunDue(ctx, "rollout", s.claim, s.judge, func(j *rolloutSnapshot) string { return strconv.FormatInt(j.task.ID, 10) })
}

// claim returns the rollout that has been due for the longest time. If j is nil and hasMore is
// true, the task was obsolete and was removed.
func (s Service) claim(ctx context.Context) (j *rolloutSnapshot, hasMore bool, err error) {
	err = s.Env.Store.Write(ctx, func(tx storeTx) error {
		j, hasMore = nil, false
		now, err := s.Env.StoreNow(tx)
		if err != nil {
			return err
		}
		t, err := records.NextDue[rolloutTask](tx, management.Query{Kind: kindRolloutTask}, now)
		if err != nil || t == nil {
			return err
		}
		hasMore = true
		p, x, err := s.loadTask(tx, t)
		if err == nil && (x == nil || !x.Status.isLive()) {
			return tx.Delete(kindRolloutTask, "", strconv.FormatInt(t.ID, 10))
		}
		if err == nil {
			j, err = s.snapshot(tx, p, x, now)
		}
		// A rollout that cannot be decoded, or that does not obey the rules any more, does not block
		// the others.
		var unreadable *storage.UnreadableError
		var fault *management.Error
		switch {
		case errors.As(err, &unreadable) || errors.As(err, &fault):
			j = &rolloutSnapshot{fault: err}
		case err != nil:
			return err
		}
		j.task = t
		return t.put(tx, now.Add(evaluationClaimTime))
	})
	var unreadable *storage.UnreadableError // of a task, which does not block the others
	if ctx.Err() == nil {
		s.counts.setBlind(err != nil && !errors.As(err, &unreadable))
	}
	return j, hasMore, err
}

// loadTask returns the rollout of a task and its project; either is nil if it was deleted.
func (s Service) loadTask(tx storeTx, t *rolloutTask) (*management.ProjectRecord, *storedRollout, error) {
	p, err := tx.Project(t.Project)
	if err != nil || p == nil {
		return nil, nil, err
	}
	x, err := resource.LoadRecord[storedRollout](tx, kindRollout, management.ProjectParent(p.ID), strconv.FormatInt(t.ID, 10))
	return p, x, err
}

// snapshot returns the state of a rollout and its flag, with the query for its current step.
func (s Service) snapshot(tx storeTx, p *management.ProjectRecord, x *storedRollout, now time.Time) (*rolloutSnapshot, error) {
	plan, err := x.plan()
	if err != nil {
		return nil, err
	}
	if x.Step == nil || *x.Step < 0 || *x.Step >= len(plan.Steps) {
		return nil, &storage.UnreadableError{What: fmt.Sprintf("%s %d", kindRollout, x.ID), Err: errors.New("it has no current step")}
	}
	settled := x.StepStarted.Add(time.Duration(x.Settle) * time.Second)
	j := &rolloutSnapshot{project: p, rollout: x, plan: plan, now: now, state: guarded.Situation{
		Settled: !now.Before(settled), DwellOver: !now.Before(x.Next.Time),
	}}
	f, err := s.stored.Find(tx, &management.Scope{Project: p}, x.Flag)
	if err != nil {
		return nil, err
	}
	if j.state.FlagDeleted = f == nil; f == nil {
		return j, nil
	}
	j.version, j.state.FlagInactive = f.Version, !f.Active
	a, err := newRolloutArms(p, x, f)
	if j.state.FlagChanged = err != nil || a.hasChanged(x); j.state.FlagChanged {
		return j, nil
	}
	j.query = s.buildQuery(x, plan, a, *x.Step, x.Started.Time, settled, now)
	return j, nil
}

// buildQuery returns the query for the events of a step.
func (s Service) buildQuery(x *storedRollout, p *rolloutPlan, a *rolloutArms, step int, started, settled, asOf time.Time) json.RawMessage {
	q := a.query(p.Steps[step].Percent)
	q["metrics"], q["as_of"], q["settled_at"] = p.metrics, asOf.UTC(), settled.UTC()
	q["since"] = started.AddDate(0, 0, -int(x.Lookback)).UTC()
	return storage.Encode(q)
}

// judge evaluates a snapshot, and applies the decision. If that fails, it records the failure.
func (s Service) judge(ctx context.Context, j *rolloutSnapshot) error {
	began := time.Now()
	err := j.fault
	if err == nil {
		err = s.evaluate(ctx, j, began)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	s.counts.addEvaluation(evaluationFailed, time.Since(began))
	return errors.Join(err, s.recordFailure(context.WithoutCancel(ctx), j.task, err))
}

// evaluate runs the query of a snapshot, evaluates the result, and applies the decision.
func (s Service) evaluate(ctx context.Context, j *rolloutSnapshot, began time.Time) error {
	evidence, err := s.gather(ctx, j)
	if err != nil {
		return err
	}
	e := j.plan.Evaluate(*j.rollout.Step, evidence)
	j.plan.Decide(e, &j.state)
	took := time.Since(began)
	next := s.nextInterval(j.task, took)
	var recorded *storedRollout // nil if the rollout or its flag has changed meanwhile
	err = s.Env.Store.Write(context.WithoutCancel(ctx), func(tx storeTx) (err error) {
		recorded, err = s.recordEvaluation(tx, j, e, next)
		return err
	})
	if err != nil || recorded == nil {
		return err
	}
	s.counts.addEvaluation(string(e.Decision), took)
	s.counts.addSteps(recorded.written)
	if next > max(s.interval(), j.task.interval()) && s.Slowed != nil {
		s.Slowed(j.project.ID, j.rollout.ID, took, next)
	}
	return nil
}

// gather runs the query of a snapshot. An error is temporary; a permanent one becomes part of the
// evidence.
func (s Service) gather(ctx context.Context, j *rolloutSnapshot) (*guarded.Evidence, error) {
	evidence := &guarded.Evidence{Metrics: make([]guarded.Measurement, len(j.plan.metrics))}
	if j.query == nil {
		return evidence, nil
	}
	limited, cancel := context.WithTimeout(ctx, evaluationTimeout)
	measured, err := s.measure(limited, j.project, j.query)
	timedOut := limited.Err() != nil
	cancel()
	var fault *management.Error
	switch {
	case err == nil:
		evidence = measured
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case timedOut, errors.As(err, &fault) && fault.Kind != management.Unavailable:
		for i := range evidence.Metrics {
			evidence.Metrics[i].Error = "The query took longer than a minute."
			if fault != nil {
				evidence.Metrics[i].Error = fault.Message
			}
		}
	default:
		return nil, err // temporary fault of the store: the rollout is due again after evaluationClaimTime
	}
	if s.Lag != nil && j.state.DwellOver {
		lag, err := s.Lag(ctx)
		if err != nil {
			return nil, err
		}
		j.state.IngestionBehind = lag > time.Minute
	}
	return evidence, nil
}

// measure runs a query and decodes its result.
func (s Service) measure(ctx context.Context, p *management.ProjectRecord, query json.RawMessage) (*guarded.Evidence, error) {
	raw, err := s.Measure(ctx, p, query)
	if err != nil {
		return nil, err
	}
	out := &guarded.Evidence{}
	return out, json.Unmarshal(raw, out)
}

// recordEvaluation stores an evaluation and applies its decision. The rollout is due again after
// next. It returns nil if the rollout or its flag has changed meanwhile.
func (s Service) recordEvaluation(tx storeTx, j *rolloutSnapshot, e *guarded.Evaluation, next time.Duration) (*storedRollout, error) {
	p, x, err := s.loadTask(tx, j.task)
	if err != nil || x == nil || x.StateVersion != j.rollout.StateVersion || x.Status != j.rollout.Status {
		return nil, err
	}
	v, err := definitions.JobView(tx, p, x.StartedBy)
	if err != nil {
		return nil, err
	}
	f, err := s.stored.Find(tx, v.Scope, x.Flag)
	if err != nil || (f == nil) != j.state.FlagDeleted || f != nil && f.Version != j.version {
		return nil, err
	}
	now, err := s.Env.StoreNow(tx)
	if err != nil {
		return nil, err
	}
	status, step, reasons := x.Status, *x.Step, x.Reasons
	if err := s.saveEvaluation(tx, x, e, now); err != nil {
		return nil, err
	}
	if err := s.applyDecision(v, x, f, e, now); err != nil {
		return nil, err
	}
	if x.Status != status || *x.Step != step || !slices.Equal(x.Reasons, reasons) {
		x.touch(now)
	}
	if err := s.announce(v, x, x.Last); err != nil {
		return nil, err
	}
	if err := s.Put(v, x); err != nil {
		return nil, err
	}
	t := &rolloutTask{Project: p.ID, ID: x.ID, Status: x.Status}
	if next > s.interval() {
		t.Interval = int64(next / time.Second)
	}
	if slices.Contains(x.Reasons, "metric_error") {
		// The rollout is evaluated, but not by all of its metrics.
		t.fail(j.task, "a metric cannot be computed", now)
	}
	return x, s.putTask(tx, x, t, now.Add(next))
}

// storedEvaluation is an evaluation with its time.
type storedEvaluation struct {
	guarded.Evaluation
	At management.Stamp `json:"evaluated_at"`
}

// Evaluation is an evaluation as the API returns it.
type Evaluation = storedEvaluation

// saveEvaluation sets the last evaluation of a rollout. It adds the evaluation to the list if the
// decision differs from the last one, or after evaluationSaveInterval.
func (s Service) saveEvaluation(tx storeTx, x *storedRollout, e *guarded.Evaluation, now time.Time) error {
	var before struct {
		Decision guarded.Decision `json:"decision"`
		Step     int              `json:"step"`
		Reasons  []string         `json:"reasons"`
	}
	_ = json.Unmarshal(x.Last, &before) // null if this is the first evaluation
	x.Last = storage.Encode(storedEvaluation{*e, management.NewStamp(now)})
	unchanged := before.Decision == e.Decision && before.Step == e.Step && slices.Equal(before.Reasons, e.Reasons)
	if unchanged && now.Sub(x.SavedAt.Time) < evaluationSaveInterval {
		return nil
	}
	x.SavedAt = management.NewStamp(now)
	return tx.Put(&management.Record{
		Kind: kindEvaluation, Parent: strconv.FormatInt(x.ID, 10), ID: s.Env.NewID(), Sort: storage.SortTime(now), Data: x.Last,
	})
}

// Evaluations returns a page of the evaluations of a rollout, newest first.
func (s Service) Evaluations(ctx context.Context, scope *management.Scope, id string, p management.Page) (management.List[Evaluation], error) {
	return resource.ReadOne(ctx, s.Resource, scope, id, func(v *view, x *storedRollout) (management.List[Evaluation], error) {
		return management.ListRecords[Evaluation](v.Tx, management.Query{
			Kind: kindEvaluation, Parent: strconv.FormatInt(x.ID, 10), Descending: true, Offset: p.Offset, Limit: p.Limit,
		})
	})
}

func (s Service) deleteEvaluations(tx storeTx, id int64) error {
	parent := strconv.FormatInt(id, 10)
	for {
		list, _, err := tx.List(management.Query{Kind: kindEvaluation, Parent: parent, Limit: 100})
		if err != nil || len(list) == 0 {
			return err
		}
		for i := range list {
			if err := tx.Delete(kindEvaluation, parent, list[i].ID); err != nil {
				return err
			}
		}
	}
}

// applyDecision applies the decision of an evaluation.
func (s Service) applyDecision(v *view, x *storedRollout, f *storedflags.Flag, e *guarded.Evaluation, now time.Time) error {
	switch e.Decision {
	case guarded.Fail:
		x.finish(rolloutFailed, now)
		x.Reasons = e.Reasons
		x.tell("fail", "")
		return nil
	case guarded.Rollback:
		return s.rollBackFor(v, x, e, regressionText(e))
	case guarded.Hold:
		return s.hold(v, x, e, now)
	case guarded.Complete:
		x.finish(rolloutCompleted, now)
		x.tell("complete", "")
		return s.logStep(v, x, "rollout_completed", "")
	case guarded.Advance:
		a, err := newRolloutArms(v.Project, x, f)
		if err != nil {
			return err
		}
		return s.step(v, x, f, a, e.Step+1, "advance", fmt.Sprintf("no harm in %d and %d exposures", e.Matured.Treatment, e.Matured.Control))
	}
	x.endHold()
	return nil
}

// rollBackFor rolls a rollout back with the reasons of an evaluation.
func (s Service) rollBackFor(v *view, x *storedRollout, e *guarded.Evaluation, why string) error {
	if err := s.rollBack(v, x, rolloutRolledBack, "rollback", why); err != nil {
		return err
	}
	x.Reasons = e.Reasons
	return nil
}

// regressionText names the guardrail with a regression, with its numbers (§4.8).
func regressionText(e *guarded.Evaluation) string {
	for _, h := range e.Guardrails {
		if h.Regression {
			return fmt.Sprintf("guardrail %s: treatment %.3g, control %.3g, at least %.3g worse (n %d and %d)", h.Name, *h.Treatment, *h.Control, *h.Bound, e.Matured.Treatment, e.Matured.Control)
		}
	}
	return ""
}
