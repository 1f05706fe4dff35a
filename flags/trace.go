package flags

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/flags/internal/values"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Trace describes why a flag has its result: everything that the evaluation used, in the
// order of its use. It contains the data that is needed to repeat the evaluation (see
// [Set.Replay]) and may be stored as JSON.
type Trace struct {
	Flag string    `json:"flag"`
	At   time.Time `json:"at"`
	// Found is false if the set has no such active flag.
	Found bool `json:"found"`
	// Decision is the result.
	Decision TraceDecision `json:"decision"`
	// Decided describes in one line how the flag was decided.
	Decided string `json:"decided"`
	// Subject contains the facts that were used, each in its layer, and Selection the
	// selection of the request.
	Subject   TraceSubject `json:"subject"`
	Selection Selection    `json:"selection"`
	// Flags are the flag and its dependencies, dependencies first.
	Flags []*FlagTrace `json:"flags"`
}

// TraceDecision is a [Decision] in the form of a trace.
type TraceDecision struct {
	Enabled     bool            `json:"enabled"`
	Variant     string          `json:"variant,omitempty"`
	Payload     json.RawMessage `json:"payload,omitempty"`
	Code        string          `json:"code"`
	Condition   int             `json:"condition"`
	Description string          `json:"description"`
	Failed      bool            `json:"failed,omitempty"`
	Undecided   *Undecided      `json:"undecided,omitempty"`
	// ReasonOpen is the fact that only the reason depends on. Code and Description are then
	// empty.
	ReasonOpen *Undecided `json:"reason_open,omitempty"`
}

// ValueText returns the value as JSON: true, false or the variant.
func (d *TraceDecision) ValueText() string {
	if d.Variant != "" {
		return show(d.Variant)
	}
	return show(d.Enabled)
}

// FlagTrace describes the evaluation of one flag.
type FlagTrace struct {
	Key      string        `json:"key"`
	Decision TraceDecision `json:"decision"`
	Decided  string        `json:"decided"`
	// Pin describes the pinned value that decides, or that no pin applies. It is nil if the
	// flag has no pin in force.
	Pin *PinTrace `json:"pin,omitempty"`
	// Enrollment describes early access and Holdout the holdout. They are nil if the flag
	// does not use them or was decided before.
	Enrollment *FilterTrace      `json:"enrollment,omitempty"`
	Holdout    *BucketTrace      `json:"holdout,omitempty"`
	Conditions []*ConditionTrace `json:"conditions,omitempty"`
}

// ConditionTrace describes the check of one condition.
type ConditionTrace struct {
	Index int `json:"index"`
	// For is the entity that the condition is about: "person" or a group type.
	For string `json:"for"`
	// Reached is false for conditions after the deciding one.
	Reached bool           `json:"reached"`
	Filters []*FilterTrace `json:"filters,omitempty"`
	Rollout *BucketTrace   `json:"rollout,omitempty"`
	Variant *BucketTrace   `json:"variant,omitempty"`
	// Outcome is the reason code of the condition by itself.
	Outcome string `json:"outcome"`
	Note    string `json:"note,omitempty"`
}

// FilterTrace describes the check of one requirement, of a condition or of a cohort.
type FilterTrace struct {
	Kind     string   `json:"kind"` // property type, or "all" and "any" for inner nodes of a cohort
	Key      string   `json:"key,omitempty"`
	Operator Operator `json:"operator,omitempty"`
	// Operand is the prepared value that the property was compared with.
	Operand jsonValue `json:"operand"`
	// Seen is the property's value, Type its type and Source its layer. The source "none"
	// means that the property is missing, or unknown for a partial subject.
	Seen   jsonValue   `json:"seen"`
	Type   string      `json:"type,omitempty"`
	Source ValueSource `json:"source"`
	// Result is "yes", "no", "unknown", "invalid" (not comparable) or "not reached". Negated
	// means that a cohort's leaf inverts it.
	Result  string         `json:"result"`
	Negated bool           `json:"negated,omitempty"`
	Note    string         `json:"note,omitempty"`
	Cohort  *CohortTrace   `json:"cohort,omitempty"`
	Items   []*FilterTrace `json:"items,omitempty"`
}

// CohortTrace describes the check of membership in a cohort.
type CohortTrace struct {
	ID     int64  `json:"id"`
	Static bool   `json:"static,omitempty"`
	Result string `json:"result"`
	// Repeated means that the cohort was evaluated before; the earlier trace contains its
	// tree.
	Repeated bool         `json:"repeated,omitempty"`
	Tree     *FilterTrace `json:"tree,omitempty"`
}

// BucketTrace describes a hash and its comparison.
type BucketTrace struct {
	// Hashed is false if the result did not depend on a bucket.
	Hashed bool `json:"hashed"`
	// Input is the hash input, Hash the hash function, and Bucket the result.
	Input  string  `json:"input,omitempty"`
	Hash   Hash    `json:"hash,omitempty"`
	Bucket float64 `json:"bucket"`
	// Share is the share of the rollout or holdout that the bucket was compared with, from 0
	// to 1.
	Share float64 `json:"share"`
	// Result is "yes" or "no", or the selected variant.
	Result string `json:"result"`
}

// TraceSubject is a Subject that can be encoded as JSON without loss: whole numbers with and
// without a point remain different.
type TraceSubject struct{ Subject }

// MarshalJSON encodes the subject.
func (s TraceSubject) MarshalJSON() ([]byte, error) {
	type plain struct {
		DistinctID      string                          `json:"distinct_id"`
		AnonymousID     string                          `json:"anonymous_id,omitempty"`
		DeviceID        string                          `json:"device_id,omitempty"`
		Groups          map[string]string               `json:"groups,omitempty"`
		Person          map[string]jsonValue            `json:"person,omitempty"`
		GroupProperties map[string]map[string]jsonValue `json:"group_properties,omitempty"`
		Located         map[string]jsonValue            `json:"located,omitempty"`
		LocatedByPeer   bool                            `json:"located_by_peer,omitempty"`
		Partial         bool                            `json:"partial,omitempty"`
		Stored          *storedJSON                     `json:"stored,omitempty"`
	}
	p := plain{
		s.DistinctID, s.AnonymousID, s.DeviceID, s.Groups, jsonValues(s.Person), jsonGroups(s.GroupProperties),
		jsonValues(s.Located), s.LocatedByPeer, s.Partial, nil,
	}
	if st := s.Stored; st != nil {
		p.Stored = &storedJSON{jsonValues(st.Person), nil, jsonGroups(st.Groups), st.Cohorts, st.Overrides, st.Failure, st.OverridesFailure}
		if !st.CreatedAt.IsZero() {
			p.Stored.CreatedAt = &st.CreatedAt
		}
	}
	return json.Marshal(p)
}

// storedJSON is the JSON form of [Stored].
type storedJSON struct {
	Person           map[string]jsonValue            `json:"person"`
	CreatedAt        *time.Time                      `json:"created_at,omitempty"`
	Groups           map[string]map[string]jsonValue `json:"groups,omitempty"`
	Cohorts          []int64                         `json:"cohorts"`
	Overrides        map[string]string               `json:"overrides"`
	Failure          ReasonCode                      `json:"failure"`
	OverridesFailure ReasonCode                      `json:"overrides_failure"`
}

// UnmarshalJSON decodes the result of MarshalJSON.
func (s *TraceSubject) UnmarshalJSON(data []byte) error {
	var p struct {
		DistinctID      string                          `json:"distinct_id"`
		AnonymousID     string                          `json:"anonymous_id"`
		DeviceID        string                          `json:"device_id"`
		Groups          map[string]string               `json:"groups"`
		Person          map[string]jsonValue            `json:"person"`
		GroupProperties map[string]map[string]jsonValue `json:"group_properties"`
		Located         map[string]jsonValue            `json:"located"`
		LocatedByPeer   bool                            `json:"located_by_peer"`
		Partial         bool                            `json:"partial"`
		Stored          *storedJSON                     `json:"stored"`
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	s.Subject = Subject{
		DistinctID: p.DistinctID, AnonymousID: p.AnonymousID, DeviceID: p.DeviceID, Groups: p.Groups,
		Person: plainValues(p.Person), GroupProperties: plainGroups(p.GroupProperties),
		Located: plainValues(p.Located), LocatedByPeer: p.LocatedByPeer, Partial: p.Partial,
	}
	if st := p.Stored; st != nil {
		s.Stored = &Stored{
			Person: plainValues(st.Person), Groups: plainGroups(st.Groups), Cohorts: st.Cohorts,
			Overrides: st.Overrides, Failure: st.Failure, OverridesFailure: st.OverridesFailure,
		}
		if st.CreatedAt != nil {
			s.Stored.CreatedAt = *st.CreatedAt
		}
	}
	return nil
}

// jsonValue is a JSON value that preserves the form of numbers.
type jsonValue struct{ Value any }

// MarshalJSON encodes the value in the form that §4.2 defines for elements of an array.
func (v jsonValue) MarshalJSON() ([]byte, error) {
	value := values.Normalize(v.Value)
	if bad, ok := value.(values.NoForm); ok {
		return json.Marshal(map[string]string{"$unsupported": bad.Problem})
	}
	text, ok := values.Text(nil, []any{value})
	if !ok {
		return []byte(`{"$unsupported":true}`), nil
	}
	return text[1 : len(text)-1], nil
}

// UnmarshalJSON decodes any JSON value.
func (v *jsonValue) UnmarshalJSON(data []byte) error {
	root, err := open(data)
	if err != nil {
		return err
	}
	v.Value = root.value()
	if obj, ok := v.Value.(map[string]any); ok && len(obj) == 1 {
		switch problem := obj["$unsupported"].(type) {
		case bool:
			v.Value = values.Unsupported{}
			return nil
		case string:
			v.Value = values.NoForm{Problem: problem}
			return nil
		}
	}
	return nil
}

// jsonValues converts properties for encoding.
func jsonValues(m Properties) map[string]jsonValue {
	if m == nil {
		return nil
	}
	out := make(map[string]jsonValue, len(m))
	for k, v := range m {
		out[k] = jsonValue{v}
	}
	return out
}

// plainValues is the inverse of jsonValues.
func plainValues(m map[string]jsonValue) Properties {
	if m == nil {
		return nil
	}
	out := make(Properties, len(m))
	for k, v := range m {
		out[k] = v.Value
	}
	return out
}

// jsonGroups converts the properties of groups for encoding.
func jsonGroups(m map[string]Properties) map[string]map[string]jsonValue {
	if m == nil {
		return nil
	}
	out := make(map[string]map[string]jsonValue, len(m))
	for k, v := range m {
		out[k] = jsonValues(v)
	}
	return out
}

// plainGroups is the inverse of jsonGroups.
func plainGroups(m map[string]map[string]jsonValue) map[string]Properties {
	if m == nil {
		return nil
	}
	out := make(map[string]Properties, len(m))
	for k, v := range m {
		out[k] = plainValues(v)
	}
	return out
}

// String returns the value as JSON, shortened if it is long.
func (v jsonValue) String() string { return show(v.Value) }

// show returns a value as JSON, shortened if it is long.
func show(v any) string {
	text, ok := values.Text(nil, []any{values.Normalize(v)})
	if !ok {
		return fmt.Sprint(v)
	}
	return wire.Shorten(string(text[1:len(text)-1]), 200)
}

// PinTrace describes the pinned value that decides a flag, or that no pin applies.
type PinTrace struct {
	// Result is "yes", "no" (the pins are for other subjects) or "unknown".
	Result string `json:"result"`
	// For describes the subject of the pin: "the person", or "the group" with its type and
	// key. It is empty if Result is "no".
	For string `json:"for,omitempty"`
	// Until is when the pin ends, zero if it does not end.
	Until time.Time `json:"until,omitzero"`
}

// String returns the result as text.
func (t *PinTrace) String() string {
	text := t.Result
	if t.For != "" {
		text += ", for " + t.For
	}
	if !t.Until.IsZero() {
		text += ", until " + t.Until.UTC().Format(time.RFC3339)
	}
	return text
}
