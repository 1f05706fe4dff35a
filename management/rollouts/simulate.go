package rollouts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/capture/guarded"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

const (
	// simulationTime limits the duration of a simulation, simulationsAtOnce the number of
	// concurrent simulations of this process.
	simulationTime    = 20 * time.Second
	simulationsAtOnce = 2

	// Limits and defaults of the request.
	maxRuns              = 10_000
	defaultRuns          = 1000
	maxEffects           = 10
	maxEffect            = 10.0
	maxPerDay            = 1_000_000_000
	maxDistributionValue = 1e9 // limit of means and standard deviations
)

// simulateFields are the fields of the request for a simulation (experiments.md §4.10).
var simulateFields = management.Fields{
	{Name: "definition", Type: management.Object, Required: true, Help: "definition of the rollout, as for creating one"},
	{Name: "metrics", Type: management.ObjectList, Required: true, Help: "distribution of the values of each guardrail: kind rate with rate, kind mean with mean and sd, or kind count with mean"},
	{Name: "entities_per_day", Type: management.Int, Required: true, MinValue: 1, MaxValue: maxPerDay, Help: "number of entities per day in both arms together"},
	{Name: "effects", Type: management.Any, Help: "relative harms, at most 10; [0, 0.5, 1] by default"},
	{Name: "runs", Type: management.Int, MinValue: 1, MaxValue: maxRuns, Help: "number of simulations for each effect, 1000 by default"},
	{Name: "seed", Type: management.Int, Help: "seed of the random numbers, 1 by default; the same seed gives the same result"},
}

// Simulate returns how often a rollout would be completed or rolled back by chance, for several
// sizes of harm. It reads no events. It returns an error of the kind TooMany if simulationsAtOnce
// simulations are running.
func (s Service) Simulate(ctx context.Context, b management.Body) (*guarded.SimulationResult, error) {
	simulation, err := simulationOf(b)
	if err != nil {
		return nil, err
	}
	// Do not wait for a free place: a simulation may take simulationTime.
	select {
	case s.simulating <- struct{}{}:
		defer func() { <-s.simulating }()
	default:
		return nil, &management.Error{Kind: management.TooMany, Code: "throttled", Message: fmt.Sprintf("%d simulations are already running: try again in a moment.", simulationsAtOnce)}
	}
	bounded, cancel := context.WithTimeout(ctx, simulationTime)
	defer cancel()
	out, err := simulation.Run(bounded)
	// A timeout of the simulation is a fault of the request; the end of the request's own context
	// is not.
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, management.Fault("runs", "The simulation takes more than %v: request fewer runs, effects or steps.", simulationTime)
	}
	return out, err
}

// simulationOf decodes and checks the request for a simulation.
func simulationOf(b management.Body) (*guarded.Simulation, error) {
	values, err := simulateFields.Create(b)
	if err != nil {
		return nil, err
	}
	x := &storedRollout{rolloutDefinition: defaultRollout()}
	// rolloutFields.Change instead of Create, since a simulation needs no flag.
	defined, err := rolloutFields.Change(management.Body{Members: management.JSONObject(values.Raw("definition"))})
	if err != nil {
		return nil, prefixDefinition(err)
	}
	resource.Apply(rolloutFields, defined, x)
	plan, err := x.plan()
	if err != nil {
		return nil, prefixDefinition(err)
	}
	// Values of an entity are complete after the settling time and the longest conversion window.
	out := &guarded.Simulation{
		Rollout: &plan.Rollout, PerDay: float64(values.Int("entities_per_day")), Delay: float64(x.Settle) + plan.longestWindow(),
		Effects: []float64{0, 0.5, 1}, Runs: defaultRuns, Seed: 1,
	}
	out.Rollout.Signals = nil // signals cause no rollback
	if values.Has("runs") {
		out.Runs = int(values.Int("runs"))
	}
	if values.Has("seed") {
		out.Seed = uint64(values.Int("seed"))
	}
	// The default applies if effects is empty.
	if raw := values.Raw("effects"); !management.EmptyJSON(raw) {
		if json.Unmarshal(raw, &out.Effects) != nil || len(out.Effects) == 0 || len(out.Effects) > maxEffects ||
			slices.ContainsFunc(out.Effects, func(e float64) bool { return e < 0 || e > maxEffect }) {
			return nil, management.Fault("effects", "Give 1 to %d numbers between 0 and %v.", maxEffects, maxEffect)
		}
	}
	out.Distributions, err = distributionsOf(values.Objects("metrics"), len(plan.Guardrails))
	return out, err
}

// prefixDefinition returns an error of the definition with the field's path in the body of the
// request.
func prefixDefinition(err error) error {
	var fault *management.Error
	if errors.As(err, &fault) && fault.Field != "" {
		own := *fault
		own.Field = "definition__" + fault.Field
		return &own
	}
	return err
}

// longestWindow returns the longest conversion window of the metrics, in seconds: the time until
// all values of an entity are complete.
func (p *rolloutPlan) longestWindow() (longest float64) {
	for _, raw := range p.metrics {
		m := management.JSONObject(raw)
		var n float64
		_ = json.Unmarshal(m["conversion_window"], &n) // was checked by plan
		unit := management.JSONText(m["conversion_window_unit"])
		if unit == "" {
			unit = "day"
		}
		longest = max(longest, n*windowSeconds[unit])
	}
	return longest
}

// distributionsOf decodes and checks the distributions of the values, one for each guardrail.
func distributionsOf(list []json.RawMessage, guardrails int) ([]guarded.Distribution, error) {
	if len(list) != guardrails || guardrails == 0 {
		return nil, management.Fault("metrics", "Give one object for each of the %d guardrails, in their order.", guardrails)
	}
	distributions := make([]guarded.Distribution, len(list))
	for i, raw := range list {
		path := fmt.Sprintf("metrics__%d", i)
		var sent struct {
			Kind           string
			Rate, Mean, SD *float64
		}
		if json.Unmarshal(raw, &sent) != nil {
			return nil, management.Fault(path, "Give kind as a string, and rate, mean and sd as numbers.")
		}
		l := &distributions[i]
		l.Kind = sent.Kind
		switch {
		case sent.Kind == "rate" && sent.Rate != nil && *sent.Rate >= 0 && *sent.Rate <= 1:
			l.Mean = *sent.Rate
		case sent.Kind == "rate":
			return nil, management.Fault(path+"__rate", "Give a number between 0 and 1.")
		case sent.Kind == "mean" && isInRange(sent.Mean, -maxDistributionValue) && isInRange(sent.SD, 0):
			l.Mean, l.SD = *sent.Mean, *sent.SD
		case sent.Kind == "mean":
			return nil, management.Fault(path, "Give mean and sd as numbers below a billion; sd is at least 0.")
		case sent.Kind == "count" && isInRange(sent.Mean, 0):
			l.Mean = *sent.Mean
		case sent.Kind == "count":
			return nil, management.Fault(path+"__mean", "Give a number of at least 0.")
		default:
			return nil, management.NotAChoice(path+"__kind", plain.ShortText(sent.Kind), []string{"rate", "mean", "count"})
		}
	}
	return distributions, nil
}

// isInRange reports whether v is set and between lowest and maxDistributionValue.
func isInRange(v *float64, lowest float64) bool {
	return v != nil && *v >= lowest && *v <= maxDistributionValue
}
