package rollouts

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// setStatus sets the status and ends a hold, except for the time of its last notice, which limits
// the notices of the next hold. If the status is not live, it clears the time of the next step too.
func (x *storedRollout) setStatus(status rolloutStatus) {
	x.Status, x.Reasons, x.HeldSince, x.NotifiedReasons = status, []string{}, management.Stamp{}, nil
	if !status.isLive() {
		x.Next = management.Stamp{}
	}
}

// tell adds an event for announce. why may be empty.
func (x *storedRollout) tell(event, why string) {
	x.events = append(x.events, rolloutEvent{event, why})
}

// emails returns the addresses in notify, or nil if it has no addresses.
func (x *storedRollout) emails() (out []string) {
	_ = json.Unmarshal(management.JSONObject(x.Notify)["emails"], &out) // was checked when it was stored
	return out
}

// touch increments the version of the state, with which clients detect conflicts.
func (x *storedRollout) touch(now time.Time) {
	x.StateVersion++
	x.Updated = management.NewStamp(now)
}

// kindRollout is the kind of the records of guarded rollouts: Parent is the project, ID the number,
// Other the flag (rolloutsKey), Sort the time of creation.
const kindRollout = "guarded_rollout"

// rolloutFields are the writable fields of a guarded rollout (experiments.md §4.2).
var rolloutFields = management.Fields{
	{Name: "feature_flag", Type: management.Int, Required: true, MinValue: 1, MaxValue: 1 << 53, Help: "id of the flag"},
	{Name: "name", Type: management.Text, Blank: true, MaxLength: 400},
	{Name: "description", Type: management.Text, Blank: true, MaxLength: 4000},
	{Name: "condition", Type: management.Int, MinValue: 0, MaxValue: 1000, Help: "index of the condition whose rollout percentage is raised, for flags without variants"},
	{Name: "treatment_variant", Type: management.Text, Null: true, MaxLength: 400, Help: "key of the variant whose share is raised"},
	{Name: "control_variant", Type: management.Text, Null: true, MaxLength: 400, Help: "key of the variant whose share is lowered"},
	{Name: "steps", Type: management.Array, Required: true, Help: "1 to 20 objects with percent, dwell_seconds and approve"},
	{Name: "guardrails", Type: management.Array, Help: "up to 10 objects with metric, goal, tolerance and name; harm to one of these metrics rolls the flag back"},
	{Name: "signals", Type: management.Array, Help: "objects like those of guardrails; harm to one of these metrics holds the rollout"},
	{Name: "alpha", Type: management.Any, Help: "probability of a false rollback over the whole rollout, 0.001 to 0.2, 0.05 by default"},
	{Name: "minimum_exposures", Type: management.Int, MinValue: 50, MaxValue: 1_000_000, Help: "minimum number of exposures in each arm, 100 by default"},
	{Name: "settle_seconds", Type: management.Int, MinValue: 0, MaxValue: maxDwell, Help: "seconds after the start of a step whose events are ignored, 300 by default"},
	{Name: "exposure_lookback_days", Type: management.Int, MinValue: 0, MaxValue: 90, Help: "days before the start from which exposures are read, 14 by default"},
	{Name: "on_rollback", Type: management.Choice, Choices: []string{"previous", "zero"}},
	{Name: "hold_limit_seconds", Type: management.Int, MinValue: 60, MaxValue: maxDwell, Help: "longest time that a rollout may be on hold, in seconds, 604800 by default"},
	{Name: "on_hold_limit", Type: management.Choice, Choices: []string{"wait", "rollback"}},
	{Name: "sample_ratio", Type: management.Choice, Choices: []string{"hold", "ignore"}},
	{Name: "notify", Type: management.Object, Help: "emails: addresses of members of the organization; by default the user who started the rollout and the followers of the flag. webhook: url, and secret of at least 16 characters, which is not returned"},
	{Name: "start", Type: management.Bool, Custom: true, Help: "true: start the rollout when it is created"},
}

// rolloutDefinition is the part of a rollout that users write. The comments of Fields
// describe its members.
type rolloutDefinition struct {
	Flag        int64  `json:"feature_flag"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Condition   int64  `json:"condition"`
	// Treatment and Control are the keys of variants; null if the flag has no variants.
	Treatment *string `json:"treatment_variant"`
	Control   *string `json:"control_variant"`
	// Steps is a list of stats.Step.
	Steps json.RawMessage `json:"steps"`
	// Guardrails and Signals are lists of rolloutGuard.
	Guardrails json.RawMessage `json:"guardrails"`
	Signals    json.RawMessage `json:"signals"`
	// Alpha is the probability of a false rollback over the whole rollout.
	Alpha json.RawMessage `json:"alpha"`
	// MinimumExposures is the number of exposures that each arm needs before the next step.
	MinimumExposures int64 `json:"minimum_exposures"`
	// Settle is the time after the beginning of a step whose events do not count, in seconds.
	Settle int64 `json:"settle_seconds"`
	// Lookback is the number of days before the start from which exposures are read.
	Lookback int64 `json:"exposure_lookback_days"`
	// OnRollback is previous or zero: the share that a rollback restores.
	OnRollback string `json:"on_rollback"`
	// HoldLimit is the duration of a hold after which OnHoldLimit applies, in seconds.
	HoldLimit int64 `json:"hold_limit_seconds"`
	// OnHoldLimit is wait or rollback.
	OnHoldLimit string `json:"on_hold_limit"`
	// SampleRatio is hold or ignore: the reaction to a sample ratio mismatch.
	SampleRatio string `json:"sample_ratio"`
	// Notify is an object with emails and webhook: see rolloutWebhook.
	Notify json.RawMessage `json:"notify"`
}

// defaultRollout returns a definition with all defaults.
func defaultRollout() rolloutDefinition {
	empty := json.RawMessage("[]")
	return rolloutDefinition{
		Steps: empty, Guardrails: empty, Signals: empty, Alpha: json.RawMessage("0.05"), MinimumExposures: 100, Settle: 300, Lookback: 14,
		OnRollback: "previous", HoldLimit: 604_800, OnHoldLimit: "wait", SampleRatio: "hold", Notify: json.RawMessage("{}"),
	}
}

// rolloutStatus is the status of a rollout (experiments.md §4.2).
type rolloutStatus string

// The statuses of a rollout. Running and holding are live; completed and the following are ends.
const (
	rolloutDraft   rolloutStatus = "draft"
	rolloutRunning rolloutStatus = "running"
	// Holding: the current step is evaluated, but the next step waits until the reasons disappear.
	rolloutHolding rolloutStatus = "holding"
	// Paused: a user has paused the rollout, and it is not evaluated.
	rolloutPaused    rolloutStatus = "paused"
	rolloutCompleted rolloutStatus = "completed"
	// Rolled back: a regression or a user has restored the share before the rollout.
	rolloutRolledBack rolloutStatus = "rolled_back"
	// Aborted: a user has ended the rollout.
	rolloutAborted rolloutStatus = "aborted"
	// Failed: the flag was deleted.
	rolloutFailed rolloutStatus = "failed"
)

// isLive reports whether the rollout is evaluated.
func (s rolloutStatus) isLive() bool { return s == rolloutRunning || s == rolloutHolding }

// isOpen reports whether the rollout has not ended.
func (s rolloutStatus) isOpen() bool { return s.isLive() || s == rolloutDraft || s == rolloutPaused }

// rolloutState is the part of a rollout that its actions and evaluations write.
type rolloutState struct {
	Status rolloutStatus `json:"status"`
	// Step is the index of the current step; null if the rollout is a draft.
	Step *int `json:"step"`
	// PercentBefore is the share of the treatment before the first step; null for a draft.
	PercentBefore *float64         `json:"percent_before"`
	Started       management.Stamp `json:"started_at"`
	StepStarted   management.Stamp `json:"step_started_at"`
	// Next is the end of the dwell time of the current step.
	Next  management.Stamp `json:"next_at"`
	Ended management.Stamp `json:"ended_at"`
	// Reasons are the reasons of a hold, a rollback or a failure.
	Reasons []string `json:"reasons"`
	// Last is the last evaluation; null if there is none.
	Last json.RawMessage `json:"last_evaluation"`
	// StateVersion is incremented by every change, for the detection of conflicts.
	StateVersion int64            `json:"state_version"`
	Created      management.Stamp `json:"created_at"`
	Updated      management.Stamp `json:"updated_at"`
}

// storedRollout is a rollout as stored.
type storedRollout struct {
	ID int64 `json:"id"`
	rolloutDefinition
	rolloutState
	CreatedBy int64 `json:"created_by"`
	// FlagAuthor is the user who created the flag, for access rules.
	FlagAuthor int64 `json:"flag_author,omitempty"`
	// StartedBy is the user in whose name the steps change the flag. LastPercent is the share that
	// the last step wrote into the flag, Both the sum of the shares of treatment and control at
	// that time.
	StartedBy   int64   `json:"started_by,omitempty"`
	LastPercent float64 `json:"wrote,omitempty"`
	Combined    float64 `json:"both,omitempty"`
	// HeldSince is the beginning of the current hold. NotifiedAt is the time of the last notice
	// about a hold, and NotifiedReasons are its reasons; nil if the current hold has no notice yet.
	HeldSince       management.Stamp `json:"held_since,omitzero"`
	NotifiedAt      management.Stamp `json:"told_at,omitzero"`
	NotifiedReasons []string         `json:"told_reasons,omitempty"`
	// events are the events of this transaction, and written the steps in which it has written the
	// flag. They are not stored.
	events  []rolloutEvent
	written []string
	// SavedAt is the time when an evaluation was last added to the list of evaluations.
	SavedAt management.Stamp `json:"kept_at,omitzero"`
}

// Rollout is a guarded rollout as the API returns it.
type Rollout struct {
	ID int64 `json:"id"`
	rolloutDefinition
	rolloutState
	CreatedBy *management.UserView   `json:"created_by"`
	Access    management.AccessLevel `json:"user_access_level"`
}

// AccessObject returns the flag of the rollout, because the access rules of the flag apply.
func (x *storedRollout) accessObject() management.AccessObject {
	return management.AccessObject{Kind: storedflags.Kind, ID: strconv.FormatInt(x.Flag, 10), Author: x.FlagAuthor}
}

// rolloutsKey returns the value of Other for the rollouts of a flag.
func rolloutsKey(project, flag int64) string {
	return management.ProjectParent(project) + "/flag/" + strconv.FormatInt(flag, 10)
}
