package management

import (
	"encoding/json"
	"time"
)

// DefinitionKind is a kind of definition.
type DefinitionKind int

// The kinds of definitions.
const (
	FlagDefinition DefinitionKind = iota
	CohortDefinition
)

// Definition is a flag or a cohort in the store. Record is the part that /flags reads, in the form
// of spec/flags.md §1; Meta is a JSON object with the data that only this package reads.
type Definition struct {
	ID     int64
	Key    string // of a flag: unique among the flags of the project that are not deleted; empty for cohorts
	Record json.RawMessage
	Meta   json.RawMessage
	Origin string // the definitions file that contains it; empty if it was created through the API
	// Deleted definitions can be restored until a new flag uses their key.
	Deleted bool
}

// DefinitionQuery selects a page of definitions. Match is as in management.Query.
type DefinitionQuery struct {
	Kind          DefinitionKind
	Project       int64
	Deleted       bool // selects the deleted definitions instead of the live definitions
	Match         func(*Definition) bool
	Offset, Limit int
}

// DefinitionTotals has the numbers of a project's definitions that are not deleted, and the size of
// their records and metadata in bytes.
type DefinitionTotals struct {
	Flags, Cohorts int
	Bytes          int64
}

// FlagCall has the exposures of a flag with one value.
type FlagCall struct {
	// Value is true, false or the key of a variant.
	Value string
	// Calls is the number of exposures, and First and Last are the times of the first and the last.
	Calls       int64
	First, Last time.Time
}

// HoursQuery selects hourly counts of flags.
type HoursQuery struct {
	Project int64
	// Evaluations selects the evaluations by the service. If false, the query selects the exposures
	// that SDKs have sent ($feature_flag_called, $experiment_exposure).
	Evaluations bool
	Keys        []string  // keys of flags; at least one
	Values      []string  // if nil, all values
	From, To    time.Time // from the hour of From up to, but without, the hour of To
}

// FlagHour is the number of evaluations or exposures of a flag in one hour.
type FlagHour struct {
	Flag, Value string
	At          time.Time // beginning of the hour
	N           int64
}
