package featureflags

import (
	"context"
	"maps"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/management"
)

// dryFields are those of a dry run beside the definition of the rollout.
var dryFields = management.Fields{
	{Name: "id", Type: management.Int, Help: "a rollout; absent: the definition stands in the body"},
	{Name: "step", Type: management.Int, Least: 0, Most: maxRolloutSteps - 1, Help: "the step that is judged, from 0"},
	{Name: "started_at", Type: management.Time, Help: "when the step is taken to have begun, and the rollout with it"},
	{Name: "as_of", Type: management.Time, Help: "when it is judged; now"},
}

// DryRunFields are the members of a dry run's body (experiments.md §4.10).
var DryRunFields = func() management.Fields {
	out := dryFields
	for _, f := range RolloutFields {
		f.Required = false
		out = append(out, f)
	}
	return out
}()

// DryRun judges a step of a rollout over the events that are there, as if it had been in
// force, and writes nothing.
func (s Rollouts) DryRun(ctx context.Context, st *management.Standing, b management.Body) (*experiments.Evaluation, error) {
	if s.Measure == nil {
		return nil, &management.Error{Kind: management.Unavailable, Code: "unavailable", Message: "Queries are not run here now."}
	}
	values, err := dryFields.Create(b)
	if err != nil {
		return nil, err
	}
	j, err := management.Read(ctx, &s.Desk, func(tx Tx) (*judged, error) {
		return s.dry(&view{Tx: tx, Standing: st}, values, b)
	})
	if err != nil {
		return nil, err
	}
	evidence, err := s.measure(ctx, st.Project, j.question)
	if err != nil {
		return nil, err
	}
	e := j.plan.Evaluate(*j.rollout.Step, evidence)
	j.plan.Decide(e, &j.state)
	return e, nil
}

// dry is what a dry run judges.
func (s Rollouts) dry(v *view, values management.Values, b management.Body) (*judged, error) {
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
		return nil, management.Fault("step", "The rollout has %d steps, counted from 0.", len(plan.Steps))
	}
	if plan.Steps[step].Percent == 100 {
		return nil, management.Fault("step", "At 100 %% nobody is left to compare with.")
	}
	f, err := s.flagOf(v, x)
	if err == nil {
		err = v.Needs(management.Viewer, f.thing())
	}
	if err != nil {
		return nil, err
	}
	a, err := fit(v.Project, x, f)
	if err != nil {
		return nil, err
	}
	started, at := x.Started.Time, s.Desk.Now()
	if values.Has("started_at") {
		started = values.Time("started_at")
	}
	if values.Has("as_of") {
		at = values.Time("as_of")
	}
	switch {
	case started.IsZero():
		return nil, management.Coded(management.CodeRequired, "started_at", "This field is required.")
	case !at.After(started):
		return nil, management.Fault("as_of", "Give a time after started_at.")
	}
	x.Step = &step
	return &judged{
		project: v.Project, rollout: x, plan: plan,
		question: s.ask(x, plan, a, step, started, started.Add(time.Duration(x.Settle)*time.Second), at),
		state:    experiments.Situation{Settled: true, TrustClients: true, DwellOver: !at.Before(started.Add(time.Duration(plan.Steps[step].Dwell) * time.Second))},
	}, nil
}

// dryRollout is a rollout that is there, or one that the body defines.
func (s Rollouts) dryRollout(v *view, values management.Values, b management.Body) (*storedRollout, error) {
	if values.Has("id") {
		x, err := s.Load(v, strconv.FormatInt(values.Int("id"), 10))
		if err == nil {
			err = v.Needs(management.Viewer, x.thing())
		}
		return x, err
	}
	definition := b
	definition.Members = maps.Clone(b.Members)
	for _, f := range dryFields {
		delete(definition.Members, f.Name)
	}
	said, err := RolloutFields.Create(definition)
	if err != nil {
		return nil, err
	}
	x := &storedRollout{rolloutDefinition: defaultRollout()}
	x.Settle = 0
	RolloutFields.Lay(said, x)
	return x, nil
}
