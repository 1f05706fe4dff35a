package rollouts

import (
	"context"
	"maps"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/capture/guarded"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

// dryFields are the fields of a dry run, in addition to the definition of the rollout.
var dryFields = management.Fields{
	{Name: "id", Type: management.Int, Help: "id of a rollout; by default the body contains the definition"},
	{Name: "step", Type: management.Int, MinValue: 0, MaxValue: maxRolloutSteps - 1, Help: "index of the step to evaluate, from 0"},
	{Name: "started_at", Type: management.Time, Help: "assumed start of the step and of the rollout"},
	{Name: "as_of", Type: management.Time, Help: "time of the evaluation, now by default"},
}

// dryRunFields are the fields of the request for a dry run (experiments.md §4.10): dryFields, and
// the fields of a rollout, none of which is required.
var dryRunFields = func() management.Fields {
	out := dryFields
	for _, f := range rolloutFields {
		f.Required = false
		out = append(out, f)
	}
	return out
}()

// DryRun evaluates one step of a rollout with the stored events, as if the step had been active
// since started_at, and returns the evaluation with its decision. It stores no changes. The rollout
// is an existing rollout, if the body has an id, or the definition in the body. DryRun returns an
// error of the kind Unavailable if the service has no Measure function.
func (s Service) DryRun(ctx context.Context, scope *management.Scope, b management.Body) (*guarded.Evaluation, error) {
	if s.Measure == nil {
		return nil, &management.Error{Kind: management.Unavailable, Code: "unavailable", Message: "Queries are not available on this server at the moment."}
	}
	values, err := dryFields.Create(b)
	if err != nil {
		return nil, err
	}
	j, err := management.Read(ctx, &s.Env, func(tx storeTx) (*rolloutSnapshot, error) {
		return s.prepareDryRun(&view{Tx: tx, Scope: scope}, values, b)
	})
	if err != nil {
		return nil, err
	}
	// The query runs outside of the transaction, since it may take long.
	evidence, err := s.measure(ctx, scope.Project, j.query)
	if err != nil {
		return nil, err
	}
	// Evaluate compares the arms, and Decide sets the decision of the evaluation.
	e := j.plan.Evaluate(*j.rollout.Step, evidence)
	j.plan.Decide(e, &j.state)
	return e, nil
}

// prepareDryRun returns the input of the evaluation: rollout, plan, query and situation.
func (s Service) prepareDryRun(v *view, values management.Values, b management.Body) (*rolloutSnapshot, error) {
	x, err := s.dryRollout(v, values, b)
	if err != nil {
		return nil, err
	}
	plan, err := x.plan()
	if err != nil {
		return nil, err
	}
	step := int(values.Int("step"))
	if step >= len(plan.Steps) {
		return nil, management.Fault("step", "The rollout has %d steps; the index of the first is 0.", len(plan.Steps))
	}
	// At 100 % the control arm is empty.
	if plan.Steps[step].Percent == 100 {
		return nil, management.Fault("step", "At 100 %% no one is left to compare with.")
	}
	f, err := s.findFlag(v, x)
	if err == nil {
		err = v.RequireAccess(management.Viewer, f.AccessObject())
	}
	if err != nil {
		return nil, err
	}
	a, err := newRolloutArms(v.Project, x, f)
	if err != nil {
		return nil, err
	}
	started, asOf := x.Started.Time, s.Env.Now()
	if values.Has("started_at") {
		started = values.Time("started_at")
	}
	if values.Has("as_of") {
		asOf = values.Time("as_of")
	}
	switch {
	case started.IsZero():
		return nil, management.CodedFault(management.CodeRequired, "started_at", "This field is required.")
	case !asOf.After(started):
		return nil, management.Fault("as_of", "Give a time after started_at.")
	}
	x.Step = &step
	// In a dry run, the settling time is over, the flag counts as unchanged, and the assignments
	// that clients report are not checked.
	return &rolloutSnapshot{
		project: v.Project, rollout: x, plan: plan,
		query: s.buildQuery(x, plan, a, step, started, started.Add(time.Duration(x.Settle)*time.Second), asOf),
		state: guarded.Situation{Settled: true, TrustClients: true, DwellOver: !asOf.Before(started.Add(time.Duration(plan.Steps[step].Dwell) * time.Second))},
	}, nil
}

// dryRollout returns the stored rollout with the id in the request, or a rollout with the
// definition in the body and defaults for absent members.
func (s Service) dryRollout(v *view, values management.Values, b management.Body) (*storedRollout, error) {
	if values.Has("id") {
		x, err := s.Load(v, strconv.FormatInt(values.Int("id"), 10))
		if err == nil {
			err = v.RequireAccess(management.Viewer, x.accessObject())
		}
		return x, err
	}
	definition := b
	definition.Members = maps.Clone(b.Members)
	// Without the fields of the dry run, the body is the definition of a rollout.
	for _, f := range dryFields {
		delete(definition.Members, f.Name)
	}
	defined, err := rolloutFields.Create(definition)
	if err != nil {
		return nil, err
	}
	x := &storedRollout{rolloutDefinition: defaultRollout()}
	// In a dry run, the settling time is 0 by default.
	x.Settle = 0
	resource.Apply(rolloutFields, defined, x)
	return x, nil
}
