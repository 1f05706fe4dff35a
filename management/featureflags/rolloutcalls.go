package featureflags

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// maxRollouts limits the live rollouts of a project (experiments.md §4.15).
const maxRollouts = 200

// RolloutCall is an action of a user on a rollout (experiments.md §4.9).
type RolloutCall struct {
	Title string
	// Fields are the fields of the body, in addition to state_version.
	Fields management.Fields
	// isAllowed reports whether the action is allowed in a status.
	isAllowed func(s rolloutStatus) bool
	// do changes x, which the caller stores.
	do func(s Rollouts, v *view, x *storedRollout, values management.Values) error
}

var (
	rolloutReason  = management.Field{Name: "reason", Type: management.Text, Blank: true, MaxLength: 400, Help: "reason, for the activity log"}
	rolloutVersion = management.Field{Name: "state_version", Type: management.Int, Null: true, Help: "state_version that the caller has read; the response is 409 if the rollout has changed since"}
)

// RolloutCalls are the actions by their names in paths.
var RolloutCalls = map[string]RolloutCall{
	"start": {
		Title:     "Start a guarded rollout and apply its first step",
		isAllowed: func(s rolloutStatus) bool { return s == rolloutDraft },
		do:        func(s Rollouts, v *view, x *storedRollout, _ management.Values) error { return s.start(v, x) },
	},
	"pause": {
		Title: "Pause a guarded rollout: the flag keeps its share, and metrics are not checked", Fields: management.Fields{rolloutReason},
		isAllowed: rolloutStatus.isLive,
		do: func(s Rollouts, v *view, x *storedRollout, values management.Values) error {
			x.setStatus(rolloutPaused)
			return s.logStep(v, x, "rollout_paused", values.Text("reason"))
		},
	},
	"resume": {
		Title:     "Resume a paused guarded rollout: the dwell time and the tests of the step restart",
		Fields:    management.Fields{{Name: "accept_flag", Type: management.Bool, Help: "true: continue with the flag as it is, if it was changed during the rollout"}},
		isAllowed: func(s rolloutStatus) bool { return s == rolloutPaused },
		do:        Rollouts.resume,
	},
	"advance": {
		Title: "Apply the next step of a guarded rollout now", Fields: management.Fields{rolloutReason},
		isAllowed: rolloutStatus.isLive, do: Rollouts.advance,
	},
	"rollback": {
		Title: "Roll back a guarded rollout", Fields: management.Fields{rolloutReason},
		isAllowed: func(s rolloutStatus) bool { return s.isLive() || s == rolloutPaused },
		do: func(s Rollouts, v *view, x *storedRollout, values management.Values) error {
			return s.rollBack(v, x, rolloutRolledBack, "rollback", values.Text("reason"))
		},
	},
	"abort": {
		Title:     "Abort a guarded rollout",
		Fields:    management.Fields{rolloutReason, {Name: "restore", Type: management.Bool, Null: true, Help: "false: leave the flag's share as it is; by default the share from before the rollout is restored"}},
		isAllowed: func(s rolloutStatus) bool { return s.isOpen() && s != rolloutDraft },
		do: func(s Rollouts, v *view, x *storedRollout, values management.Values) error {
			if values.Has("restore") && !values.IsNull("restore") && !values.Bool("restore") {
				s.finish(x, rolloutAborted)
				return errors.Join(s.logStep(v, x, "rollout_aborted", values.Text("reason")), s.notify(v, x, "abort", values.Text("reason")))
			}
			return s.rollBack(v, x, rolloutAborted, "abort", values.Text("reason"))
		},
	},
}

// RolloutCallFields returns the fields of the body of an action.
func RolloutCallFields(name string) management.Fields {
	return append(management.Fields{rolloutVersion}, RolloutCalls[name].Fields...)
}

// Call runs the action with a name in RolloutCalls. It returns an error of the kind Clash (409) if
// the request has a state_version that is not the current one.
func (s Rollouts) Call(ctx context.Context, scope *management.Scope, id, name string, b management.Body) (*Rollout, error) {
	call := RolloutCalls[name]
	values, err := RolloutCallFields(name).Create(b)
	if err != nil {
		return nil, err
	}
	return management.RunAction(ctx, s.Resource, scope, id, func(e *management.Edit[Tx, storedRollout]) error {
		x := e.After
		if values.Has("state_version") && !values.IsNull("state_version") && values.Int("state_version") != x.StateVersion {
			return management.Clash("The rollout has changed in the meantime: it is now %s, with state_version %d.", x.Status, x.StateVersion)
		}
		if !call.isAllowed(x.Status) {
			return management.Fault("", "This rollout is %s.", x.Status)
		}
		if err := call.do(s, e.View, x, values); err != nil {
			return err
		}
		x.touch(s.Env.Now())
		// Pausing and ending remove the task; the other actions schedule the next evaluation.
		return s.schedule(e.Tx, e.Project.ID, x, s.Env.Now().Add(s.interval()))
	})
}

// setStatus sets the status and ends a hold, except for the time of its last notice, which limits
// the notices of the next hold. If the status is not live, it clears the time of the next step too.
func (x *storedRollout) setStatus(status rolloutStatus) {
	x.Status, x.Reasons, x.HeldSince, x.NotifiedReasons = status, []string{}, management.Stamp{}, nil
	if !status.isLive() {
		x.Next = management.Stamp{}
	}
}

// loadArms returns the flag of a rollout with its arms.
func (s Rollouts) loadArms(v *view, x *storedRollout) (*storedFlag, *rolloutArms, error) {
	f, err := s.findFlag(v, x)
	if err != nil {
		return nil, nil, err
	}
	a, err := newRolloutArms(v.Project, x, f)
	return f, a, err
}

// start begins the first step. If changes of the flag need an approval, start needs it too; later
// steps need none.
func (s Rollouts) start(v *view, x *storedRollout) error {
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
	x.PercentBefore, x.Started, x.StartedBy, x.Combined = &a.percent, management.NewStamp(s.Env.Now()), v.User.ID, a.combined
	// Later steps run without the user, so the approval is checked now.
	if err := f.checkStart(v.Scope, a, p.Steps[0].Percent); err != nil {
		return err
	}
	return s.step(v, x, f, a, 0, "start", "")
}

// checkLive returns an error if the project cannot have one more live rollout.
func checkLive(v *view) error {
	_, live, err := v.Tx.List(management.Query{Kind: kindRolloutTask, Other: v.Parent(), Limit: 1})
	if err == nil && live >= maxRollouts {
		err = management.CodedFault(management.CodeMaxLength, "", "%d rollouts of the project are in progress: end one of them first.", maxRollouts)
	}
	return err
}

// checkStart returns an error if the caller could not change the flag in this way without a
// rollout.
func (f *storedFlag) checkStart(scope *management.Scope, a *rolloutArms, percent float64) error {
	trial := f.clone()
	if err := a.set(trial, percent); err != nil {
		return err
	}
	return trial.checkApproval(scope)
}

// step begins step i. The rollout is completed if this is the last step and has 100 %.
func (s Rollouts) step(v *view, x *storedRollout, f *storedFlag, a *rolloutArms, i int, action, why string) error {
	p, err := x.plan()
	if err != nil {
		return err
	}
	step := p.Steps[i]
	if err := s.write(v, x, f, a, step.Percent, action, why); err != nil {
		return err
	}
	now := s.Env.Now()
	x.Step, x.LastPercent, x.StepStarted = &i, step.Percent, management.NewStamp(now)
	x.setStatus(rolloutRunning)
	x.Next = management.NewStamp(now.Add(time.Duration(step.Dwell) * time.Second))
	if err := s.notify(v, x, action, why); err != nil {
		return err
	}
	// At 100 % there is no control arm to compare with.
	if i == len(p.Steps)-1 && step.Percent == 100 {
		s.finish(x, rolloutCompleted)
		return s.notify(v, x, "complete", "")
	}
	return nil
}

// finish ends a rollout with a status.
func (s Rollouts) finish(x *storedRollout, status rolloutStatus) {
	x.setStatus(status)
	x.Ended = management.NewStamp(s.Env.Now())
}

// write stores the share of the treatment in the flag, as its next version (§4.8).
func (s Rollouts) write(v *view, x *storedRollout, f *storedFlag, a *rolloutArms, percent float64, action, why string) error {
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
	f.job = management.Encode(map[string]any{"job_type": "guarded_rollout", "job_id": strconv.FormatInt(x.ID, 10), "payload": map[string]any{
		"step": step, "percent": percent, "action": action, "reason": why,
	}})
	f.note = why
	return s.flags.saveFlag(v.Tx, v.Scope, f)
}

// resume continues a paused rollout. It begins the current step from its start.
func (s Rollouts) resume(v *view, x *storedRollout, values management.Values) error {
	f, a, err := s.loadArms(v, x)
	if err == nil { // an experiment may have begun during the pause
		err = s.checkExclusive(v, x, f)
	}
	if err == nil {
		err = checkLive(v)
	}
	if err != nil {
		return err
	}
	p, err := x.plan()
	if err != nil {
		return err
	}
	// The user has to confirm that the rollout continues with the changed share.
	if a.hasChanged(x) {
		if !values.Bool("accept_flag") {
			return management.Clash("The flag now gives the treatment %s %%, but the rollout set %s %%: send accept_flag, or abort the rollout.", share(a.percent), share(x.LastPercent))
		}
		x.LastPercent, x.Combined = a.percent, a.combined
	}
	now := s.Env.Now()
	x.setStatus(rolloutRunning)
	x.StepStarted, x.Next = management.NewStamp(now), management.NewStamp(now.Add(time.Duration(p.Steps[*x.Step].Dwell)*time.Second))
	return s.logStep(v, x, "rollout_resumed", "")
}

// advance begins the next step without waiting for the decision of an evaluation. It fails only if
// a guardrail has a regression in the current step, or the flag was changed.
func (s Rollouts) advance(v *view, x *storedRollout, values management.Values) error {
	f, a, err := s.loadArms(v, x)
	var fault *management.Error
	if errors.As(err, &fault) { // the flag was deleted, or changed so that no rollout can use it
		err = management.Clash("%s", fault.Message)
	}
	if err != nil {
		return err
	}
	if a.hasChanged(x) {
		return management.Clash("The flag was changed: it now gives the treatment %s %%, but the rollout set %s %%.", share(a.percent), share(x.LastPercent))
	}
	// x.Last is an evaluation; decode only the members that are needed.
	var last struct {
		Step       int `json:"step"`
		Guardrails []struct {
			Name       string
			Regression bool
		} `json:"guardrails"`
	}
	_ = json.Unmarshal(x.Last, &last) // null if there was no evaluation yet
	for _, g := range last.Guardrails {
		if g.Regression && last.Step == *x.Step {
			return management.Clash("The guardrail %s is harmed.", g.Name)
		}
	}
	p, err := x.plan()
	if err != nil {
		return err
	}
	if *x.Step+1 >= len(p.Steps) {
		return management.Fault("", "This is the last step.")
	}
	return s.step(v, x, f, a, *x.Step+1, "advance", values.Text("reason"))
}

// rollBack restores the share before the rollout, or 0 if on_rollback is zero, and ends the
// rollout. It does not change the rest of the flag.
func (s Rollouts) rollBack(v *view, x *storedRollout, status rolloutStatus, action, why string) error {
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
	x.LastPercent = percent
	s.finish(x, status)
	return s.notify(v, x, action, why)
}

// logStep logs an event of the rollout that does not change the flag, in the log of the flag.
func (s Rollouts) logStep(v *view, x *storedRollout, activity, why string) error {
	f, err := findFlag(v.Tx, v.Scope, s.flags, x.Flag)
	if err != nil || f == nil { // the flag was deleted, which its log records
		return err
	}
	return s.Env.LogActivityAs(v.Tx, v.Caller, v.Parent(), activity, flagActivityScope, f.itemID(), management.ActivityDetail{
		Name: f.Key, Changes: []management.Change{}, Note: why,
		Trigger: management.Encode(map[string]any{"job_type": "guarded_rollout", "job_id": strconv.FormatInt(x.ID, 10)}),
	})
}
