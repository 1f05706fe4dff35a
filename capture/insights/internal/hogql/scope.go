package hogql

import (
	"slices"
	"strings"
)

// Scope defines the fields of rows, and collects those that are used. All expressions that
// are evaluated over the same rows may share one scope.
//
// The caller sets the exported fields before it compiles. Compiling adds the fields that are
// used; the caller then reads them with Fields.
type Scope struct {
	// Resolve returns the type of the field with a path, such as properties, $browser. It
	// returns false if there is no such field.
	Resolve func(path []string) (Type, bool)
	// Star has the fields that * represents.
	Star []string
	// Time and Name are the fields by which rows can be selected, see [Query.Range]. They may
	// be empty.
	Time, Name string
	// Cohort checks IN COHORT: path must identify a person, and the cohort must exist. The
	// error is the reason why it is not possible. If nil, cohorts are not supported.
	Cohort func(path []string, cohort string) error
	// Filters reports whether {filters} may be used.
	Filters bool

	fields []Field
	types  []Type
	index  map[string]int
}

// Field is the definition of a slot of [Row.Fields].
type Field struct {
	// Path is the name of a field, and names below it.
	Path []string
	// Cohort is a cohort if the value of the slot is whether the person of Path is a member.
	// Otherwise it is empty.
	Cohort string
	// Filters reports whether the value of the slot is whether the row passes {filters}.
	Filters bool
}

// Fields returns the fields that are used, in the order of their slots.
func (s *Scope) Fields() []Field { return s.fields }

// slot returns the slot of a field, and adds the field if needed.
func (s *Scope) slot(f Field, t Type) int {
	// Equal fields share a slot, so that the caller computes each value once for a row.
	key := strings.Join(f.Path, "\x00") + "\x01" + f.Cohort
	if f.Filters {
		key = "\x02"
	}
	if i, ok := s.index[key]; ok {
		return i
	}
	if s.index == nil {
		s.index = map[string]int{}
	}
	f.Path = slices.Clone(f.Path)
	s.fields, s.types = append(s.fields, f), append(s.types, t)
	s.index[key] = len(s.fields) - 1
	return len(s.fields) - 1
}

// Row is a row that expressions are evaluated over. Its strings must not be modified until
// the call that the row is passed to returns.
//
// The caller may reuse a Row and its slices for the next row, since a Query copies the values
// that it retains.
type Row struct {
	// Fields are the values of [Scope.Fields].
	Fields []Value
	// Fetch, if not nil, returns the value of a slot when it is needed. Fields is not used in
	// that case.
	Fetch func(slot int) Value
	// Time, in microseconds, and ID, the order of recording, determine which row is earlier.
	Time, ID int64
	// Deferred delays the evaluation of the selected items until [Query.EvaluateDeferred],
	// which requests the row by Index.
	Deferred bool
	Index    int
}

// field returns the value of a slot.
func (r *Row) field(slot int) Value {
	if r.Fetch != nil {
		return r.Fetch(slot)
	}
	return r.Fields[slot]
}

// before reports whether the row is earlier than the given time and ID.
func (r *Row) before(time, id int64) bool {
	return r.Time < time || r.Time == time && r.ID < id
}
