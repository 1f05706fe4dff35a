package flags

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Trace is why a flag was answered as it was: everything that was looked at,
// in the order in which it was looked at. It holds what is needed to decide the
// flag again (see [Set.Replay]) and can be kept as JSON.
type Trace struct {
	Flag string    `json:"flag"`
	At   time.Time `json:"at"`
	// Found is false when the set has no such active flag.
	Found bool `json:"found"`
	// Decision is the answer.
	Decision TraceDecision `json:"decision"`
	// Decided is the line that decided, in words.
	Decided string `json:"decided"`
	// Subject holds the facts that were looked at, each in the layer it came
	// from, and Selection what was asked for.
	Subject   TraceSubject `json:"subject"`
	Selection Selection    `json:"selection"`
	// Flags are the flag and what it depends on, dependencies first.
	Flags []*FlagTrace `json:"flags"`
}

// TraceDecision is a Decision as data.
type TraceDecision struct {
	Enabled     bool            `json:"enabled"`
	Variant     string          `json:"variant,omitempty"`
	Payload     json.RawMessage `json:"payload,omitempty"`
	Code        string          `json:"code"`
	Condition   int             `json:"condition"`
	Description string          `json:"description"`
	Failed      bool            `json:"failed,omitempty"`
	Undecided   *Undecided      `json:"undecided,omitempty"`
	// ReasonOpen is the fact that the reason alone hangs on: then Code and Description
	// are empty.
	ReasonOpen *Undecided `json:"reason_open,omitempty"`
}

// ValueText is the value as JSON: true, false or the variant.
func (d *TraceDecision) ValueText() string {
	if d.Variant != "" {
		return show(d.Variant)
	}
	return show(d.Enabled)
}

// FlagTrace is the decision of one flag.
type FlagTrace struct {
	Key      string        `json:"key"`
	Decision TraceDecision `json:"decision"`
	Decided  string        `json:"decided"`
	// Pin is the pinned value that decides, or that none does; nil: the flag has none in
	// force.
	Pin *PinTrace `json:"pin,omitempty"`
	// Enrollment is early access, Holdout the holdout; nil when the flag has none
	// or was decided before.
	Enrollment *FilterTrace      `json:"enrollment,omitempty"`
	Holdout    *BucketTrace      `json:"holdout,omitempty"`
	Conditions []*ConditionTrace `json:"conditions,omitempty"`
}

// ConditionTrace is one condition.
type ConditionTrace struct {
	Index int `json:"index"`
	// For is whom the condition is about: "person" or a group type.
	For string `json:"for"`
	// Reached is false for conditions behind the one that decided.
	Reached bool           `json:"reached"`
	Filters []*FilterTrace `json:"filters,omitempty"`
	Rollout *BucketTrace   `json:"rollout,omitempty"`
	Variant *BucketTrace   `json:"variant,omitempty"`
	// Outcome is the reason code that the condition alone gives.
	Outcome string `json:"outcome"`
	Note    string `json:"note,omitempty"`
}

// FilterTrace is one requirement, of a condition or of a cohort.
type FilterTrace struct {
	Kind     string   `json:"kind"` // property type, or "all" and "any" for a cohort's nodes
	Key      string   `json:"key,omitempty"`
	Operator Operator `json:"operator,omitempty"`
	// Operand is the value compared with, as it was prepared.
	Operand jsonValue `json:"operand"`
	// Seen is the value found, Type its type and Source its layer. Source "none"
	// is a property that is missing, or unknown for a partial subject.
	Seen   jsonValue   `json:"seen"`
	Type   string      `json:"type,omitempty"`
	Source ValueSource `json:"source"`
	// Result is "yes", "no", "unknown", "invalid" (cannot be compared) or
	// "not reached". Negated says that a cohort's leaf turns it round.
	Result  string         `json:"result"`
	Negated bool           `json:"negated,omitempty"`
	Note    string         `json:"note,omitempty"`
	Cohort  *CohortTrace   `json:"cohort,omitempty"`
	Items   []*FilterTrace `json:"items,omitempty"`
}

// CohortTrace is membership of a cohort.
type CohortTrace struct {
	ID     int64  `json:"id"`
	Static bool   `json:"static,omitempty"`
	Result string `json:"result"`
	// Repeated: decided further up, where its tree is shown.
	Repeated bool         `json:"repeated,omitempty"`
	Tree     *FilterTrace `json:"tree,omitempty"`
}

// BucketTrace is a hash and what it was compared with.
type BucketTrace struct {
	// Hashed is false when the answer did not depend on a bucket.
	Hashed bool `json:"hashed"`
	// Input is what was hashed, Hash how, Bucket where it fell.
	Input  string  `json:"input,omitempty"`
	Hash   Hash    `json:"hash,omitempty"`
	Bucket float64 `json:"bucket"`
	// Share is what a rollout or holdout was compared with, from 0 to 1.
	Share float64 `json:"share"`
	// Result is "yes" and "no", or the variant chosen.
	Result string `json:"result"`
}

// TraceSubject is a Subject that survives JSON: whole numbers and numbers with
// a point stay different.
type TraceSubject struct{ Subject }

// MarshalJSON writes the subject.
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

type storedJSON struct {
	Person           map[string]jsonValue            `json:"person"`
	CreatedAt        *time.Time                      `json:"created_at,omitempty"`
	Groups           map[string]map[string]jsonValue `json:"groups,omitempty"`
	Cohorts          []int64                         `json:"cohorts"`
	Overrides        map[string]string               `json:"overrides"`
	Failure          ReasonCode                      `json:"failure"`
	OverridesFailure ReasonCode                      `json:"overrides_failure"`
}

// UnmarshalJSON reads what MarshalJSON wrote.
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

// jsonValue is a JSON value whose numbers keep their form.
type jsonValue struct{ Value any }

// MarshalJSON writes the value as §4.2 writes it inside an array.
func (v jsonValue) MarshalJSON() ([]byte, error) {
	value := normalize(v.Value)
	if bad, ok := value.(noForm); ok {
		return json.Marshal(map[string]string{"$unsupported": bad.problem})
	}
	text, ok := appendText(nil, []any{value})
	if !ok {
		return []byte(`{"$unsupported":true}`), nil
	}
	return text[1 : len(text)-1], nil
}

// UnmarshalJSON reads any JSON value.
func (v *jsonValue) UnmarshalJSON(data []byte) error {
	root, err := open(data)
	if err != nil {
		return err
	}
	v.Value = root.value()
	if obj, ok := v.Value.(map[string]any); ok && len(obj) == 1 {
		switch problem := obj["$unsupported"].(type) {
		case bool:
			v.Value = unsupported{}
			return nil
		case string:
			v.Value = noForm{problem}
			return nil
		}
	}
	return nil
}

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

// String is the value as JSON, shortened.
func (v jsonValue) String() string { return show(v.Value) }

// show is a value as JSON, shortened.
func show(v any) string {
	text, ok := appendText(nil, []any{normalize(v)})
	if !ok {
		return fmt.Sprint(v)
	}
	return wire.Shorten(string(text[1:len(text)-1]), 200)
}
