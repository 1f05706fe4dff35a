package flags

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/internal/values"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Decision is the result of one flag. The methods of a nil Decision, such as that of a flag
// that was not evaluated, return the values of a flag that is off.
type Decision struct {
	Key     string
	Enabled bool
	// HasExperiment is passed on to clients (§10.3).
	HasExperiment bool
	// Kind is the kind of value that the flag has.
	Kind Kind
	// Variant is the key of the variant, empty for a boolean result. If it is set, Enabled is
	// true.
	Variant string
	// Payload is the JSON value that the definitions have for this result, nil if there is
	// none. It is shared: callers must not modify it.
	Payload json.RawMessage
	Reason  Reason
	ID      int64
	Version int64
	// Undecided is not nil if the result could change with a fact that is unknown for a
	// partial subject, or with a value that has no form in JSON. Enabled and Variant are then
	// meaningless.
	Undecided *Undecided
	// ReasonOpen is not nil if the subject is partial and the result is certain, but its
	// reason is not: the deciding condition could change with this fact. Reason is then
	// empty.
	ReasonOpen *Undecided
}

// Failed reports whether the flag could not be evaluated. Failed flags are off.
func (d *Decision) Failed() bool { return d != nil && d.Reason.Code >= firstFailure }

// Value returns the result as PostHog's SDKs represent it: false, true or the key of the
// variant.
func (d *Decision) Value() any {
	if d == nil {
		return false
	}
	if d.Variant != "" {
		return d.Variant
	}
	return d.Enabled
}

// Undecided names the first unknown fact that a result depends on. It is shared and must not
// be modified.
type Undecided struct {
	// Fact is the kind of fact: "person property", "group property", "person metadata",
	// "cohort", "flag", "experience continuity" or "pinned value".
	Fact string `json:"fact"`
	// Name is the property's key, the id of the cohort or of the pinned value, or the flag's
	// key.
	Name string `json:"name"`
	// Problem describes why the value of a property has no form in JSON; the Undecided is
	// then [ErrNoJSONForm]. It is empty if the fact was not supplied.
	Problem string `json:"problem,omitempty"`
}

// Error describes the unknown fact, so that an Undecided can be used as an error.
func (u *Undecided) Error() string { return "not decided: " + u.describe() }

// Is reports whether target is [ErrNoJSONForm] and the value has no form in JSON.
func (u *Undecided) Is(target error) bool { return target == ErrNoJSONForm && u.Problem != "" }

// describe returns the fact and its name, with the problem if there is one.
func (u *Undecided) describe() string {
	if u.Problem != "" {
		return u.Fact + " " + values.Quote(u.Name) + " has a value that cannot be encoded as JSON: " + wire.Shorten(u.Problem, 200)
	}
	return "unknown " + u.Fact + " " + values.Quote(u.Name)
}

// Reason describes why a flag has its result (§3.8, §3.9).
type Reason struct {
	// Condition is the index of the condition that decided, or [NoCondition].
	Condition int
	Code      ReasonCode
	note      reasonNote
}

// NoCondition is the Condition of a reason that is not about a condition.
const NoCondition = -1

// reasonNote refines a reason: another description, or how a condition matched.
type reasonNote uint8

const (
	noteNone reasonNote = iota
	noteGroupsNotEvaluated
	noteBehavioural
	noteSplit  // of a match: a bucket decided, about the rollout or the variant
	noteStatic // of a match: the result is the same for everybody
)

// The reason codes of §3.9. FlagDataParsingError and all codes after it are failures.
const (
	NoReason ReasonCode = iota
	ConditionMatch
	NoConditionMatch
	OutOfRolloutBound
	NoGroupType
	SuperConditionValue
	HoldoutConditionValue
	FlagDisabled
	MissingDependency
	Pinned

	FlagDataParsingError
	CohortFiltersParsingError
	CohortNotFound
	CohortCycle
	FlagCycle
	HashKeyOverrideError
	DatabaseError
	DatabaseUnavailable
	StatementTimeout
	CookielessIdentity
)

const firstFailure = FlagDataParsingError

// reasonText maps each code to its name on the wire, its description and its score. Of
// several conditions that did not match, the one with the highest score is reported, of equal
// ones the later (§3.8).
var reasonText = [...]struct {
	code, description string
	score             int8
}{
	NoReason:                  {"", "", -2},
	ConditionMatch:            {"condition_match", "Matched condition set ", 4},
	NoConditionMatch:          {"no_condition_match", "No matching condition set", 2},
	OutOfRolloutBound:         {"out_of_rollout_bound", "Out of rollout bound", 3},
	NoGroupType:               {"no_group_type", "No group type", 1},
	SuperConditionValue:       {"super_condition_value", "Super condition value", 6},
	HoldoutConditionValue:     {"holdout_condition_value", "Holdout condition value", 5},
	FlagDisabled:              {"flag_disabled", "Feature flag is disabled", 0},
	MissingDependency:         {"missing_dependency", "Flag cannot be evaluated due to missing dependency", -1},
	Pinned:                    {"pinned", "Pinned value", 7},
	FlagDataParsingError:      {"flag_data_parsing_error", "Failed to parse flag data", 0},
	CohortFiltersParsingError: {"cohort_filters_parsing_error", "Failed to parse cohort filters", 0},
	CohortNotFound:            {"dependency_not_found_cohort", "Cohort dependency not found", 0},
	CohortCycle:               {"dependency_cycle_cohort", "Cohort dependency cycle detected", 0},
	FlagCycle:                 {"dependency_cycle_flag", "Flag dependency cycle detected", 0},
	HashKeyOverrideError:      {"hash_key_override_error", "Failed to fetch hash key override for experience continuity", 0},
	DatabaseError:             {"database_error", "Database connection error during evaluation", 0},
	DatabaseUnavailable:       {"database_unavailable", "Database unavailable", 0},
	StatementTimeout:          {"timeout", "Database statement timed out", 0},
	CookielessIdentity:        {"cookieless_identity", "The flag needs an id, and a visitor without cookies has none", 0},
}

// reasonNotes are the descriptions that replace that of NoConditionMatch.
var reasonNotes = [...]string{
	noteGroupsNotEvaluated: "No matching condition set (group conditions were not evaluated because no group type was provided)",
	noteBehavioural:        "This condition targets a behavioral or realtime cohort. Its membership is not fully evaluated here, so this result can differ from the cohort's member list.",
}

// String returns the code on the wire, and "" for an unknown value.
func (c ReasonCode) String() string {
	if int(c) < len(reasonText) {
		return reasonText[c].code
	}
	return ""
}

// MarshalText returns the code on the wire.
func (c ReasonCode) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads a code on the wire. An unknown one becomes NoReason.
func (c *ReasonCode) UnmarshalText(text []byte) error {
	*c = NoReason
	for i := range reasonText {
		if reasonText[i].code == string(text) {
			*c = ReasonCode(i)
		}
	}
	return nil
}

// Description returns the description of the reason (§3.9).
func (r Reason) Description() string { return string(r.AppendDescription(nil)) }

// AppendDescription appends the description to dst. It does not allocate if dst has the
// capacity.
func (r Reason) AppendDescription(dst []byte) []byte {
	if r.note != noteNone && r.Code == NoConditionMatch {
		return append(dst, reasonNotes[r.note]...)
	}
	if int(r.Code) < len(reasonText) {
		dst = append(dst, reasonText[r.Code].description...)
	}
	if r.Code == ConditionMatch {
		dst = strconv.AppendInt(dst, int64(r.Condition)+1, 10)
	}
	return dst
}

// Kind is the kind of value that a flag has. OFREP requests do not name the type that they
// expect, so that the type is a property of the flag.
type Kind uint8

const (
	// BooleanKind flags are on or off.
	BooleanKind Kind = iota
	// VariantKind flags have variants. Their value is the key of one, and they have no value
	// while they are off or matched without a variant.
	VariantKind
	// ConfigKind flags are remote configuration (is_remote_configuration, §1.1). Their value
	// is their payload, and they have no value while they are off or have no payload.
	ConfigKind
)

// surveyPrefix starts the keys of flags that belong to surveys. They are not billed and can
// be selected separately (§9.2, §10.1).
const surveyPrefix = "survey-targeting-"

// isBillable reports whether requests for a flag are counted. Flags that surveys and product
// tours create are free (§10.1).
func isBillable(key string) bool {
	return !strings.HasPrefix(key, surveyPrefix) && !strings.HasPrefix(key, "product-tour-targeting-")
}
