package flags

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Decision is the answer for one flag. Methods of a nil Decision, as of a flag that was
// not answered, are those of one that is off.
type Decision struct {
	Key     string
	Enabled bool
	// HasExperiment is passed on to clients (§10.3).
	HasExperiment bool
	// Kind says what kind of value the flag is made for.
	Kind Kind
	// Variant is empty for a boolean answer. A variant implies Enabled.
	Variant string
	// Payload is the JSON value stored for the answer, nil if there is none. It
	// is shared: callers must not change it.
	Payload json.RawMessage
	Reason  Reason
	ID      int64
	Version int64
	// Undecided is not nil when the answer could change with a fact that is not known
	// of a partial subject, or that has a value without a form in JSON. Enabled and
	// Variant mean nothing then.
	Undecided *Undecided
	// ReasonOpen is not nil when the subject is partial and the answer is certain, but
	// not its reason: which condition it comes from could change with this fact. Reason
	// is empty then.
	ReasonOpen *Undecided
}

// Failed reports an answer that could not be computed. Failed flags are off.
func (d *Decision) Failed() bool { return d != nil && d.Reason.Code >= firstFailure }

// Value is the answer as PostHog's SDKs show it: false, true or the variant.
func (d *Decision) Value() any {
	if d == nil {
		return false
	}
	if d.Variant != "" {
		return d.Variant
	}
	return d.Enabled
}

// Undecided names the first unknown fact that an answer could change with. It is
// shared and must not be changed.
type Undecided struct {
	// Fact is what kind of fact it is: "person property", "group property",
	// "person metadata", "cohort", "flag", "experience continuity", "pinned value".
	Fact string `json:"fact"`
	// Name is the property's key, the id of the cohort or of the pinned
	// value, or the flag's key.
	Name string `json:"name"`
	// Problem says of a property that was given why its value has no form in JSON; then
	// the Undecided is [ErrNoJSONForm]. Empty: nobody gave the fact.
	Problem string `json:"problem,omitempty"`
}

// Error makes an Undecided usable as an error.
func (u *Undecided) Error() string { return "not decided: " + u.describe() }

// Is makes errors.Is find ErrNoJSONForm.
func (u *Undecided) Is(target error) bool { return target == ErrNoJSONForm && u.Problem != "" }

func (u *Undecided) describe() string {
	if u.Problem != "" {
		return u.Fact + " " + quote(u.Name) + " has a value without a form in JSON: " + wire.Shorten(u.Problem, 200)
	}
	return "unknown " + u.Fact + " " + quote(u.Name)
}

// Reason is why a flag was answered as it was (§3.8, §3.9).
type Reason struct {
	// Condition is the index of the condition that decided, -1 for none.
	Condition int
	Code      ReasonCode
	note      reasonNote
}

// NoCondition is the Condition of a reason that no condition gave.
const NoCondition = -1

type reasonNote uint8

const (
	noteNone reasonNote = iota
	noteGroupsNotEvaluated
	noteBehavioural
	noteSplit  // of a match: a bucket decided, about the rollout or the variant
	noteStatic // of a match: the answer is the same for everybody
)

// ReasonCode is the machine-readable part of a Reason.
type ReasonCode uint8

// The reason codes of §3.9. Codes from FlagDataParsingError on are failures.
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

// reasonText gives each code its name on the wire, its description and its
// score: of several conditions that did not match, the highest score is
// reported, on a tie the later condition (§3.8).
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

var reasonNotes = [...]string{
	noteGroupsNotEvaluated: "No matching condition set (group conditions were not evaluated because no group type was provided)",
	noteBehavioural:        "This condition targets a behavioral or realtime cohort. Its membership is not fully evaluated here, so this result can differ from the cohort's member list.",
}

// String is the code on the wire.
func (c ReasonCode) String() string {
	if int(c) < len(reasonText) {
		return reasonText[c].code
	}
	return ""
}

// MarshalText writes the code on the wire.
func (c ReasonCode) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads a code; an unknown one becomes NoReason.
func (c *ReasonCode) UnmarshalText(text []byte) error {
	*c = NoReason
	for i := range reasonText {
		if reasonText[i].code == string(text) {
			*c = ReasonCode(i)
		}
	}
	return nil
}

// Description is the text that goes with the code (§3.9).
func (r Reason) Description() string { return string(r.AppendDescription(nil)) }

// AppendDescription appends the description to dst, without allocation when it
// fits.
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

// Kind is the kind of value that a flag is made for. OFREP asks without saying what
// type it wants, so the flag has to say.
type Kind uint8

const (
	// BooleanKind flags are on or off.
	BooleanKind Kind = iota
	// VariantKind flags have variants: their value is the key of one, and none while
	// they are off or matched without a variant.
	VariantKind
	// ConfigKind flags are remote configuration (is_remote_configuration, §1.1): their
	// value is their payload, and none while they are off or have no payload.
	ConfigKind
)

// survey flags are not billed and can be asked for apart (§9.2, §10.1).
const surveyPrefix = "survey-targeting-"

// isBillable reports whether a flag is counted: those that surveys and product tours
// create are free (§10.1).
func isBillable(key string) bool {
	return !strings.HasPrefix(key, surveyPrefix) && !strings.HasPrefix(key, "product-tour-targeting-")
}
