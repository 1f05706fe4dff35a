package rollouts

import (
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/experiments"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// loadArms returns the flag of a rollout with its arms.
func (s Service) loadArms(v *view, x *storedRollout) (*storedflags.Flag, *rolloutArms, error) {
	f, err := s.findFlag(v, x)
	if err != nil {
		return nil, nil, err
	}
	a, err := newRolloutArms(v.Project, x, f)
	return f, a, err
}

// start begins the first step. If changes of the flag need an approval, start needs it too; later
// steps need none.
func (s Service) start(v *view, x *storedRollout) error {
	f, a, err := s.loadArms(v, x)
	if err == nil {
		err = s.checkExclusive(v, x, f)
	}
	if err != nil {
		return err
	}
	p, err := x.plan()
	if err != nil {
		return err
	}
	// The first step must raise the share, since a rollout cannot lower it.
	if a.percent >= p.Steps[0].Percent {
		return notComparable("steps.0.percent", "The treatment already has %s %%: the first step must be higher.", share(a.percent))
	}
	if err := checkLive(v); err != nil {
		return err
	}
	now, err := s.Env.StoreNow(v.Tx)
	if err != nil {
		return err
	}
	x.PercentBefore, x.Started, x.StartedBy, x.Combined = &a.percent, management.NewStamp(now), v.User.ID, a.combined
	// Later steps run without the user, so the approval is checked now.
	if err := checkStart(v.Scope, f, a, p.Steps[0].Percent); err != nil {
		return err
	}
	return s.step(v, x, f, a, 0, "start", "")
}

// checkStart returns an error if the caller could not change the flag in this way without a
// rollout.
func checkStart(scope *management.Scope, f *storedflags.Flag, a *rolloutArms, percent float64) error {
	trial := f.Clone()
	if err := a.set(trial, percent); err != nil {
		return err
	}
	return trial.CheckApproval(scope)
}

// step begins step i. The rollout is completed if this is the last step and has 100 %.
func (s Service) step(v *view, x *storedRollout, f *storedflags.Flag, a *rolloutArms, i int, action, why string) error {
	p, err := x.plan()
	if err != nil {
		return err
	}
	step := p.Steps[i]
	if err := s.write(v, x, f, a, step.Percent, action, why); err != nil {
		return err
	}
	now, err := s.Env.StoreNow(v.Tx)
	if err != nil {
		return err
	}
	x.Step, x.LastPercent, x.StepStarted = &i, step.Percent, management.NewStamp(now)
	x.setStatus(rolloutRunning)
	x.Next = management.NewStamp(now.Add(time.Duration(step.Dwell) * time.Second))
	x.tell(action, why)
	// At 100 % there is no control arm to compare with.
	if i == len(p.Steps)-1 && step.Percent == 100 {
		x.finish(rolloutCompleted, now)
		x.tell("complete", "")
	}
	return nil
}

// finish ends a rollout with a status.
func (x *storedRollout) finish(status rolloutStatus, now time.Time) {
	x.setStatus(status)
	x.Ended = management.NewStamp(now)
}

// write stores the share of the treatment in the flag, as its next version (§4.8).
func (s Service) write(v *view, x *storedRollout, f *storedflags.Flag, a *rolloutArms, percent float64, action, why string) error {
	if err := a.set(f, percent); err != nil {
		return err
	}
	// x.Step is still the step before the change; only start and advance begin another step.
	step := -1
	if x.Step != nil {
		step = *x.Step
	}
	if action == "start" || action == "advance" {
		step++
	}
	f.Job = storage.Encode(map[string]any{"job_type": "guarded_rollout", "job_id": strconv.FormatInt(x.ID, 10), "payload": map[string]any{
		"step": step, "percent": percent, "action": action, "reason": why,
	}})
	f.Note = why
	x.written = append(x.written, action)
	return s.stored.Save(v.Tx, v.Scope, f)
}

// rollBack restores the share before the rollout, or 0 if on_rollback is zero, and ends the
// rollout. It does not change the rest of the flag.
func (s Service) rollBack(v *view, x *storedRollout, status rolloutStatus, action, why string) error {
	f, a, err := s.loadArms(v, x)
	if err != nil {
		return err
	}
	percent := 0.0
	if x.OnRollback != "zero" && x.PercentBefore != nil {
		percent = *x.PercentBefore
	}
	if err := s.write(v, x, f, a, percent, action, why); err != nil {
		return err
	}
	now, err := s.Env.StoreNow(v.Tx)
	if err != nil {
		return err
	}
	x.LastPercent = percent
	x.finish(status, now)
	x.tell(action, why)
	return nil
}

// logStep logs an event of the rollout that does not change the flag, in the log of the flag.
func (s Service) logStep(v *view, x *storedRollout, activity, why string) error {
	f, err := s.stored.Find(v.Tx, v.Scope, x.Flag)
	if err != nil || f == nil { // the flag was deleted, which its log records
		return err
	}
	return s.Env.LogActivityAs(v.Tx, v.Caller, v.Parent(), activity, storedflags.ActivityScope, f.ItemID(), management.ActivityDetail{
		Name: f.Key, Changes: []management.Change{}, Note: why,
		Trigger: storage.Encode(map[string]any{"job_type": "guarded_rollout", "job_id": strconv.FormatInt(x.ID, 10)}),
	})
}

// checkExclusive returns an error if the flag already has an open rollout or a running experiment.
func (s Service) checkExclusive(v *view, x *storedRollout, f *storedflags.Flag) error {
	q := management.Query{Kind: kindRollout, Other: rolloutsKey(v.Project.ID, x.Flag)}
	open, err := lists.EveryRecord(v.Tx, q, func(o *storedRollout) bool { return o.ID != x.ID && o.Status.isOpen() })
	if err != nil {
		return err
	}
	if len(open) > 0 {
		return management.Clash("The feature flag %q has a rollout that has not ended: %d (%s).", f.Key, open[0].ID, open[0].Status)
	}
	running, err := experiments.RunningOn(v, x.Flag)
	if err == nil && running {
		err = notComparable("feature_flag", "An experiment is running on this flag: end it first.")
	}
	return err
}
