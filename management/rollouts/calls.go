package rollouts

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

// call is an action of a user on a rollout (experiments.md §4.9).
type call struct {
	Title string
	// Fields are the fields of the body.
	Fields management.Fields
	// isAllowed reports whether the action is allowed in a status.
	isAllowed func(s rolloutStatus) bool
	// do changes x, which the caller stores.
	do func(s Service, v *view, x *storedRollout, values management.Values) error
}

var (
	rolloutReason  = management.Field{Name: "reason", Type: management.Text, Blank: true, MaxLength: 400, Help: "reason, for the activity log"}
	rolloutVersion = management.Field{Name: "state_version", Type: management.Int, Null: true, Help: "state_version that the caller has read; the response is 409 if the rollout has changed since"}
)

// callFields returns the fields of the body of an action: state_version, and its own.
func callFields(own ...management.Field) management.Fields {
	return append(management.Fields{rolloutVersion}, own...)
}

// Calls are the actions by their names in paths.
var Calls = map[string]call{
	"start": {
		Title:     "Start a guarded rollout and apply its first step",
		Fields:    callFields(),
		isAllowed: func(s rolloutStatus) bool { return s == rolloutDraft },
		do: func(s Service, v *view, x *storedRollout, _ management.Values) error {
			return s.start(v, x)
		},
	},
	"pause": {
		Title: "Pause a guarded rollout: the flag keeps its share, and metrics are not checked", Fields: callFields(rolloutReason),
		isAllowed: rolloutStatus.isLive,
		do: func(s Service, v *view, x *storedRollout, values management.Values) error {
			x.setStatus(rolloutPaused)
			return s.logStep(v, x, "rollout_paused", values.Text("reason"))
		},
	},
	"resume": {
		Title:     "Resume a paused guarded rollout: the dwell time and the tests of the step restart",
		Fields:    callFields(management.Field{Name: "accept_flag", Type: management.Bool, Help: "true: continue with the flag as it is, if it was changed during the rollout"}),
		isAllowed: func(s rolloutStatus) bool { return s == rolloutPaused },
		do:        Service.resume,
	},
	"advance": {
		Title: "Apply the next step of a guarded rollout now", Fields: callFields(rolloutReason),
		isAllowed: rolloutStatus.isLive, do: Service.advance,
	},
	"rollback": {
		Title: "Roll back a guarded rollout", Fields: callFields(rolloutReason),
		isAllowed: func(s rolloutStatus) bool { return s.isLive() || s == rolloutPaused },
		do: func(s Service, v *view, x *storedRollout, values management.Values) error {
			return s.rollBack(v, x, rolloutRolledBack, "rollback", values.Text("reason"))
		},
	},
	"abort": {
		Title:     "Abort a guarded rollout",
		Fields:    callFields(rolloutReason, management.Field{Name: "restore", Type: management.Bool, Null: true, Help: "false: leave the flag's share as it is; by default the share from before the rollout is restored"}),
		isAllowed: func(s rolloutStatus) bool { return s.isOpen() && s != rolloutDraft },
		do: func(s Service, v *view, x *storedRollout, values management.Values) error {
			if values.Has("restore") && !values.IsNull("restore") && !values.Bool("restore") {
				now, err := s.Env.StoreNow(v.Tx)
				if err != nil {
					return err
				}
				x.finish(rolloutAborted, now)
				x.tell("abort", values.Text("reason"))
				return s.logStep(v, x, "rollout_aborted", values.Text("reason"))
			}
			return s.rollBack(v, x, rolloutAborted, "abort", values.Text("reason"))
		},
	},
}

// Call runs the action with a name in Calls. It returns an error of the kind Clash (409) if
// the request has a state_version that is not the current one.
func (s Service) Call(ctx context.Context, scope *management.Scope, id, name string, b management.Body) (*Rollout, error) {
	call := Calls[name]
	values, err := call.Fields.Create(b)
	if err != nil {
		return nil, err
	}
	var written []string
	r, err := resource.RunAction(ctx, s.Resource, scope, id, func(e *resource.Edit[storeTx, storedRollout]) error {
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
		written = x.written
		return s.saveStep(e.View, x)
	})
	if err == nil {
		s.counts.addSteps(written)
	}
	return r, err
}

// saveStep completes an action of a user: it increments the version, queues the notices, and
// schedules the next evaluation, or none if the rollout was paused or has ended. The caller stores x.
func (s Service) saveStep(v *view, x *storedRollout) error {
	now, err := s.Env.StoreNow(v.Tx)
	if err != nil {
		return err
	}
	x.touch(now)
	if err := s.announce(v, x, nil); err != nil {
		return err
	}
	return s.schedule(v.Tx, v.Project.ID, x, now.Add(s.interval()))
}

// touch increments the version of a rollout that a user has changed.
func (s Service) touch(tx storeTx, x *storedRollout) error {
	now, err := s.Env.StoreNow(tx)
	x.touch(now)
	return err
}

// checkLive returns an error if the project cannot have one more live rollout.
func checkLive(v *view) error {
	_, live, err := v.Tx.List(management.Query{Kind: kindRolloutTask, Other: v.Parent(), Limit: 1})
	if err == nil && live >= maxRollouts {
		err = management.CodedFault(management.CodeMaxLength, "", "%d rollouts of the project are in progress: end one of them first.", maxRollouts)
	}
	return err
}

// resume continues a paused rollout. It begins the current step from its start.
func (s Service) resume(v *view, x *storedRollout, values management.Values) error {
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
	now, err := s.Env.StoreNow(v.Tx)
	if err != nil {
		return err
	}
	x.setStatus(rolloutRunning)
	x.StepStarted, x.Next = management.NewStamp(now), management.NewStamp(now.Add(time.Duration(p.Steps[*x.Step].Dwell)*time.Second))
	return s.logStep(v, x, "rollout_resumed", "")
}

// advance begins the next step without waiting for the decision of an evaluation. It fails only if
// a guardrail has a regression in the current step, or the flag was changed.
func (s Service) advance(v *view, x *storedRollout, values management.Values) error {
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
