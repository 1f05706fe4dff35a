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
	{Name: "feature_flag", Type: management.Int, Required: true, MinValue: 1, MaxValue: 1 << 53, Help: "the flag's id"},
	{Name: "name", Type: management.Text, Blank: true, MaxLength: 400},
	{Name: "description", Type: management.Text, Blank: true, MaxLength: 4000},
	{Name: "condition", Type: management.Int, MinValue: 0, MaxValue: 1000, Help: "the condition whose percentage is raised, of flags without variants"},
	{Name: "treatment_variant", Type: management.Text, Null: true, MaxLength: 400, Help: "whose share is raised"},
	{Name: "control_variant", Type: management.Text, Null: true, MaxLength: 400, Help: "whose share is lowered"},
	{Name: "steps", Type: management.Array, Required: true, Help: "1 to 20 objects with percent, dwell_seconds and approve"},
	{Name: "guardrails", Type: management.Array, Help: "up to 10 objects with metric, goal, tolerance and name: harm turns the rollout back"},
	{Name: "signals", Type: management.Array, Help: "the same: harm holds the rollout"},
	{Name: "alpha", Type: management.Any, Help: "chance of a false rollback over the whole rollout, 0.001 to 0.2; 0.05"},
	{Name: "minimum_exposures", Type: management.Int, MinValue: 50, MaxValue: 1_000_000, Help: "of each arm; 100"},
	{Name: "settle_seconds", Type: management.Int, MinValue: 0, MaxValue: maxDwell, Help: "after a step nothing is judged so long; 300"},
	{Name: "exposure_lookback_days", Type: management.Int, MinValue: 0, MaxValue: 90, Help: "14"},
	{Name: "on_rollback", Type: management.Choice, Choices: []string{"previous", "zero"}},
	{Name: "hold_limit_seconds", Type: management.Int, MinValue: 60, MaxValue: maxDwell, Help: "604800"},
	{Name: "on_hold_limit", Type: management.Choice, Choices: []string{"wait", "rollback"}},
	{Name: "sample_ratio", Type: management.Choice, Choices: []string{"hold", "ignore"}},
	{Name: "notify", Type: management.Object, Help: "emails: members of the organization; absent: who has started the rollout"},
	{Name: "start", Type: management.Bool, Custom: true, Help: "true: when it is made, it starts"},
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

// isLive: it is judged.
func (s rolloutStatus) isLive() bool { return s == rolloutRunning || s == rolloutHolding }

// isOpen: it has not ended.
func (s rolloutStatus) isOpen() bool { return s.isLive() || s == rolloutDraft || s == rolloutPaused }

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
	StartedBy   int64   `json:"started_by,omitempty"`
	LastPercent float64 `json:"wrote,omitempty"`
	Both        float64 `json:"both,omitempty"`
	// HeldSince is when the hold began that goes on, Told when people were told of it.
	HeldSince  management.Stamp `json:"held_since,omitzero"`
	NotifiedAt management.Stamp `json:"told_at,omitzero"`
	// SavedAt is when an evaluation was written into the list of them for the last time.
	SavedAt management.Stamp `json:"kept_at,omitzero"`
}

// Rollout is a guarded rollout as it is shown.
type Rollout struct {
	ID int64 `json:"id"`
	rolloutDefinition
	rolloutState
	CreatedBy *management.UserView   `json:"created_by"`
	Access    management.AccessLevel `json:"user_access_level"`
}

// accessObject is what access rules are about: the flag.
func (x *storedRollout) accessObject() management.AccessObject {
	return management.AccessObject{Kind: kindFlag, ID: strconv.FormatInt(x.Flag, 10), Author: x.FlagAuthor}
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
	s.Resource = management.NewResource(&c.Env, management.Spec[Tx, storedRollout, Rollout]{
		Kind: kindRollout, Fields: RolloutFields, NewestFirst: true,
		Object: (*storedRollout).accessObject,
		Header: func(scope *management.Scope, x *storedRollout) management.RecordHeader {
			return management.RecordHeader{
				ID: strconv.FormatInt(x.ID, 10), Title: x.Name, Other: rolloutsKey(scope.Project.ID, x.Flag), Sort: management.SortTime(x.Created.Time),
			}
		},
		Load: loadNumbered[storedRollout](kindRollout),
		New: func(v *view) (*storedRollout, error) {
			id, err := v.Tx.Next(kindRollout)
			now := management.NewStamp(c.Env.Now())
			return &storedRollout{
				ID: id, CreatedBy: v.User.ID, rolloutDefinition: defaultRollout(),
				rolloutState: rolloutState{Status: rolloutDraft, Reasons: []string{}, Created: now, Updated: now},
			}, err
		},
		Rules:        s.rules,
		BeforeDelete: s.beforeDelete,
		AfterSave:    func(e *management.Edit[Tx, storedRollout]) error { return s.afterSave(e) }, // s is not whole yet
		Show: func(v *view, x *storedRollout) (*Rollout, error) {
			creator, err := v.Author(x.CreatedBy)
			return &Rollout{x.ID, x.rolloutDefinition, x.rolloutState, creator, v.AccessTo(x.accessObject())}, err
		},
	})
	return s
}

// rolloutsKey is Other of the rollouts of a flag.
func rolloutsKey(project, flag int64) string {
	return management.ProjectParent(project) + "/flag/" + strconv.FormatInt(flag, 10)
}

// List returns a page of rollouts, the newest first: of one flag where it is not 0, with
// one status where it is not empty.
func (s Rollouts) List(ctx context.Context, scope *management.Scope, flag int64, status string, p management.Page) (management.List[Rollout], error) {
	q := management.Query{Offset: p.Offset, Limit: p.Limit}
	if flag != 0 {
		q.Other = rolloutsKey(scope.Project.ID, flag)
	}
	if status != "" {
		q.Match = func(r *management.Record) bool {
			x, err := management.Decode[storedRollout](r)
			return err == nil && string(x.Status) == status
		}
	}
	return s.Query(ctx, scope, q)
}

// rules check a definition, and make what is not said explicit.
func (s Rollouts) rules(e *management.Edit[Tx, storedRollout]) error {
	x := e.After
	if !e.IsNew {
		if err := x.checkEdit(&e.Before, e.Values); err != nil {
			return err
		}
	}
	if _, err := x.plan(); err != nil {
		return err
	}
	if err := s.tidyNotify(e.View, x); err != nil {
		return err
	}
	f, err := s.findFlag(e.View, x)
	if err != nil {
		return err
	}
	x.FlagAuthor = f.CreatedBy
	if err := e.RequireAccess(management.Editor, f.accessObject()); err != nil {
		return err
	}
	if _, err := newRolloutArms(e.Project, x, f); err != nil {
		return err
	}
	if err := s.checkExclusive(e.View, x, f); err != nil {
		return err
	}
	if !e.IsNew {
		x.touch(s.Env.Now())
	}
	return nil
}

// afterSave starts a rollout that was made to start at once.
func (s Rollouts) afterSave(e *management.Edit[Tx, storedRollout]) error {
	if !e.IsNew || !e.Values.Bool("start") {
		return nil
	}
	if err := s.start(e.View, e.After); err != nil {
		return err
	}
	e.After.touch(s.Env.Now())
	if err := s.Put(e.View, e.After); err != nil {
		return err
	}
	return s.schedule(e.Tx, e.Project.ID, e.After, s.Env.Now().Add(s.interval()))
}

// beforeDelete refuses to remove what goes on, and removes what was decided with the rest.
func (s Rollouts) beforeDelete(e *management.Edit[Tx, storedRollout]) error {
	if x := e.After; x.Status.isOpen() && x.Status != rolloutDraft {
		return management.Clash("This rollout is %s: abort it first.", x.Status)
	}
	return s.deleteEvaluations(e.Tx, e.After.ID)
}

// checkExclusive refuses a second rollout of a flag, and of a flag that an experiment runs on.
func (s Rollouts) checkExclusive(v *view, x *storedRollout, f *storedFlag) error {
	q := management.Query{Kind: kindRollout, Other: rolloutsKey(v.Project.ID, x.Flag)}
	open, err := management.EveryRecord(v.Tx, q, func(o *storedRollout) bool { return o.ID != x.ID && o.Status.isOpen() })
	if err != nil {
		return err
	}
	if len(open) > 0 {
		return management.Clash("The feature flag %q has a rollout that has not ended: %d (%s).", f.Key, open[0].ID, open[0].Status)
	}
	running, err := s.experiments.selectAll(v, func(o *storedExperiment) bool {
		return o.Flag == x.Flag && !o.Start.IsZero() && o.End.IsZero() && !o.Archived
	})
	if err == nil && len(running) > 0 {
		err = notComparable("feature_flag", "An experiment runs on this flag: end it first.")
	}
	return err
}

// findFlag is the flag of a rollout.
func (s Rollouts) findFlag(v *view, x *storedRollout) (*storedFlag, error) {
	f, err := findFlag(v.Tx, v.Scope, s.flags, x.Flag)
	if err == nil && f == nil {
		err = management.CodedFault(management.CodeDoesNotExist, "feature_flag", "The project has no feature flag %d.", x.Flag)
	}
	return f, err
}
