package featureflags

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/bunting-flags/bunting/management"
)

// kindRollout is a guarded rollout: Parent is the project, ID its number, Other its flag,
// Sort the time it was made.
const kindRollout = "guarded_rollout"

// RolloutFields are the writable fields of a guarded rollout (experiments.md §4.2).
var RolloutFields = management.Fields{
	{Name: "feature_flag", Type: management.Int, Required: true, Least: 1, Most: 1 << 53, Help: "the flag's id"},
	{Name: "name", Type: management.Text, Blank: true, Max: 400},
	{Name: "description", Type: management.Text, Blank: true, Max: 4000},
	{Name: "condition", Type: management.Int, Least: 0, Most: 1000, Help: "the condition whose percentage is raised, of flags without variants"},
	{Name: "treatment_variant", Type: management.Text, Null: true, Max: 400, Help: "whose share is raised"},
	{Name: "control_variant", Type: management.Text, Null: true, Max: 400, Help: "whose share is lowered"},
	{Name: "steps", Type: management.Array, Required: true, Help: "1 to 20 objects with percent, dwell_seconds and approve"},
	{Name: "guardrails", Type: management.Array, Help: "up to 10 objects with metric, goal, tolerance and name: harm turns the rollout back"},
	{Name: "signals", Type: management.Array, Help: "the same: harm holds the rollout"},
	{Name: "alpha", Type: management.Any, Help: "chance of a false rollback over the whole rollout, 0.001 to 0.2; 0.05"},
	{Name: "minimum_exposures", Type: management.Int, Least: 50, Most: 1_000_000, Help: "of each arm; 100"},
	{Name: "settle_seconds", Type: management.Int, Least: 0, Most: maxDwell, Help: "after a step nothing is judged so long; 300"},
	{Name: "exposure_lookback_days", Type: management.Int, Least: 0, Most: 90, Help: "14"},
	{Name: "on_rollback", Type: management.Choice, Choices: []string{"previous", "zero"}},
	{Name: "hold_limit_seconds", Type: management.Int, Least: 60, Most: maxDwell, Help: "604800"},
	{Name: "on_hold_limit", Type: management.Choice, Choices: []string{"wait", "rollback"}},
	{Name: "sample_ratio", Type: management.Choice, Choices: []string{"hold", "ignore"}},
	{Name: "notify", Type: management.Object, Help: "emails: members of the organization; absent: who has started the rollout"},
	{Name: "start", Type: management.Bool, Ruled: true, Help: "true: when it is made, it starts"},
}

// rolloutDefinition is what people say of a rollout.
type rolloutDefinition struct {
	Flag             int64           `json:"feature_flag"`
	Name             string          `json:"name"`
	Description      string          `json:"description"`
	Condition        int64           `json:"condition"`
	Treatment        *string         `json:"treatment_variant"`
	Control          *string         `json:"control_variant"`
	Steps            json.RawMessage `json:"steps"`
	Guardrails       json.RawMessage `json:"guardrails"`
	Signals          json.RawMessage `json:"signals"`
	Alpha            json.RawMessage `json:"alpha"`
	MinimumExposures int64           `json:"minimum_exposures"`
	Settle           int64           `json:"settle_seconds"`
	Lookback         int64           `json:"exposure_lookback_days"`
	OnRollback       string          `json:"on_rollback"`
	HoldLimit        int64           `json:"hold_limit_seconds"`
	OnHoldLimit      string          `json:"on_hold_limit"`
	SampleRatio      string          `json:"sample_ratio"`
	Notify           json.RawMessage `json:"notify"`
}

// defaultRollout is a definition that says nothing.
func defaultRollout() rolloutDefinition {
	empty := json.RawMessage("[]")
	return rolloutDefinition{
		Steps: empty, Guardrails: empty, Signals: empty, Alpha: json.RawMessage("0.05"), MinimumExposures: 100, Settle: 300, Lookback: 14,
		OnRollback: "previous", HoldLimit: 604_800, OnHoldLimit: "wait", SampleRatio: "hold", Notify: json.RawMessage("{}"),
	}
}

// rolloutStatus is where a rollout stands (experiments.md §4.2).
type rolloutStatus string

const (
	rolloutDraft     rolloutStatus = "draft"
	rolloutRunning   rolloutStatus = "running"
	rolloutHolding   rolloutStatus = "holding"
	rolloutPaused    rolloutStatus = "paused"
	rolloutCompleted rolloutStatus = "completed"
	rolloutBack      rolloutStatus = "rolled_back"
	rolloutAborted   rolloutStatus = "aborted"
	rolloutFailed    rolloutStatus = "failed"
)

// live: it is judged.
func (s rolloutStatus) live() bool { return s == rolloutRunning || s == rolloutHolding }

// open: it has not ended.
func (s rolloutStatus) open() bool { return s.live() || s == rolloutDraft || s == rolloutPaused }

// rolloutState is what has become of a rollout.
type rolloutState struct {
	Status        rolloutStatus    `json:"status"`
	Step          *int             `json:"step"`
	PercentBefore *float64         `json:"percent_before"`
	Started       management.Stamp `json:"started_at"`
	StepStarted   management.Stamp `json:"step_started_at"`
	Next          management.Stamp `json:"next_at"`
	Ended         management.Stamp `json:"ended_at"`
	Reasons       []string         `json:"reasons"`
	Last          json.RawMessage  `json:"last_evaluation"`
	StateVersion  int64            `json:"state_version"`
	Created       management.Stamp `json:"created_at"`
	Updated       management.Stamp `json:"updated_at"`
}

type storedRollout struct {
	ID int64 `json:"id"`
	rolloutDefinition
	rolloutState
	CreatedBy  int64 `json:"created_by"`
	FlagAuthor int64 `json:"flag_author,omitempty"`
	// StartedBy is in whose name the steps are made. Wrote is the share that stands in the
	// flag since the last step, Both what treatment and control have there together.
	StartedBy int64   `json:"started_by,omitempty"`
	Wrote     float64 `json:"wrote,omitempty"`
	Both      float64 `json:"both,omitempty"`
	// HeldSince is when the hold began that goes on, Told when people were told of it.
	HeldSince management.Stamp `json:"held_since,omitzero"`
	Told      management.Stamp `json:"told_at,omitzero"`
	// Kept is when an evaluation was written into the list of them for the last time.
	Kept management.Stamp `json:"kept_at,omitzero"`
}

// Rollout is a guarded rollout as it is shown.
type Rollout struct {
	ID int64 `json:"id"`
	rolloutDefinition
	rolloutState
	CreatedBy *management.UserView   `json:"created_by"`
	Access    management.AccessLevel `json:"user_access_level"`
}

// thing is what access rules are about: the flag.
func (x *storedRollout) thing() management.Thing {
	return management.Thing{Kind: kindFlag, ID: strconv.FormatInt(x.Flag, 10), Author: x.FlagAuthor}
}

// Rollouts are guarded rollouts (experiments.md §4).
type Rollouts struct {
	*core
	management.Resource[Tx, storedRollout, Rollout]
	flags       Flags
	experiments Experiments
}

func newRollouts(c *core, experiments Experiments) (s Rollouts) {
	s.core, s.flags, s.experiments = c, Flags{c}, experiments
	s.Resource = management.NewResource(&c.Desk, management.Spec[Tx, storedRollout, Rollout]{
		Kind: kindRollout, Fields: RolloutFields, Newest: true,
		Thing: (*storedRollout).thing,
		Place: func(st *management.Standing, x *storedRollout) management.Place {
			return management.Place{
				ID: strconv.FormatInt(x.ID, 10), Title: x.Name, Other: rolloutsOf(st.Project.ID, x.Flag), Sort: management.SortTime(x.Created.Time),
			}
		},
		Load: numbered[storedRollout](kindRollout),
		New: func(v *view) (*storedRollout, error) {
			id, err := v.Tx.Next(kindRollout)
			now := management.At(c.Desk.Now())
			return &storedRollout{
				ID: id, CreatedBy: v.User.ID, rolloutDefinition: defaultRollout(),
				rolloutState: rolloutState{Status: rolloutDraft, Reasons: []string{}, Created: now, Updated: now},
			}, err
		},
		Rules: s.rules,
		Leave: s.leave,
		Done:  func(e *management.Edit[Tx, storedRollout]) error { return s.begun(e) }, // s is not whole yet
		Show: func(v *view, x *storedRollout) (*Rollout, error) {
			by, err := v.Author(x.CreatedBy)
			return &Rollout{x.ID, x.rolloutDefinition, x.rolloutState, by, v.AccessTo(x.thing())}, err
		},
	})
	return s
}

// rolloutsOf is Other of the rollouts of a flag.
func rolloutsOf(project, flag int64) string {
	return management.ProjectParent(project) + "/flag/" + strconv.FormatInt(flag, 10)
}

// List returns a page of rollouts, the newest first: of one flag where it is not 0, with
// one status where it is not empty.
func (s Rollouts) List(ctx context.Context, st *management.Standing, flag int64, status string, p management.Page) (management.List[Rollout], error) {
	q := management.Query{Offset: p.Offset, Limit: p.Limit}
	if flag != 0 {
		q.Other = rolloutsOf(st.Project.ID, flag)
	}
	if status != "" {
		q.Match = func(r *management.Record) bool {
			x, err := management.Decode[storedRollout](r)
			return err == nil && string(x.Status) == status
		}
	}
	return s.Query(ctx, st, q)
}

// rules check a definition, and make what is not said explicit.
func (s Rollouts) rules(e *management.Edit[Tx, storedRollout]) error {
	x := e.Now
	if !e.Fresh {
		if err := x.mayBeEdited(&e.Was, e.Values); err != nil {
			return err
		}
	}
	if _, err := x.plan(); err != nil {
		return err
	}
	if err := s.tidyNotify(e.View, x); err != nil {
		return err
	}
	f, err := s.flagOf(e.View, x)
	if err != nil {
		return err
	}
	x.FlagAuthor = f.CreatedBy
	if err := e.Needs(management.Editor, f.thing()); err != nil {
		return err
	}
	if _, err := fit(e.Project, x, f); err != nil {
		return err
	}
	if err := s.alone(e.View, x, f); err != nil {
		return err
	}
	if !e.Fresh {
		x.touch(s.Desk.Now())
	}
	return nil
}

// begun starts a rollout that was made to start at once.
func (s Rollouts) begun(e *management.Edit[Tx, storedRollout]) error {
	if !e.Fresh || !e.Values.Bool("start") {
		return nil
	}
	if err := s.start(e.View, e.Now); err != nil {
		return err
	}
	e.Now.touch(s.Desk.Now())
	if err := s.Put(e.View, e.Now); err != nil {
		return err
	}
	return s.plant(e.Tx, e.Project.ID, e.Now, s.Desk.Now().Add(s.interval()))
}

// leave refuses to remove what goes on, and removes what was decided with the rest.
func (s Rollouts) leave(e *management.Edit[Tx, storedRollout]) error {
	if x := e.Now; x.Status.open() && x.Status != rolloutDraft {
		return management.Clash("This rollout is %s: abort it first.", x.Status)
	}
	return s.dropEvaluations(e.Tx, e.Now.ID)
}

// alone refuses a second rollout of a flag, and of a flag that an experiment runs on.
func (s Rollouts) alone(v *view, x *storedRollout, f *storedFlag) error {
	q := management.Query{Kind: kindRollout, Other: rolloutsOf(v.Project.ID, x.Flag)}
	open, err := management.EveryRecord(v.Tx, q, func(o *storedRollout) bool { return o.ID != x.ID && o.Status.open() })
	if err != nil {
		return err
	}
	if len(open) > 0 {
		return management.Clash("The feature flag %q has a rollout that has not ended: %d (%s).", f.Key, open[0].ID, open[0].Status)
	}
	running, err := s.experiments.every(v, func(o *storedExperiment) bool {
		return o.Flag == x.Flag && !o.Start.IsZero() && o.End.IsZero() && !o.Archived
	})
	if err == nil && len(running) > 0 {
		err = notComparable("feature_flag", "An experiment runs on this flag: end it first.")
	}
	return err
}

// flagOf is the flag of a rollout.
func (s Rollouts) flagOf(v *view, x *storedRollout) (*storedFlag, error) {
	f, err := flagOf(v.Tx, v.Standing, s.flags, x.Flag)
	if err == nil && f == nil {
		err = management.Coded(management.CodeDoesNotExist, "feature_flag", "The project has no feature flag %d.", x.Flag)
	}
	return f, err
}
