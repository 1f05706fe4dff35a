package featureflags

import (
	"encoding/json"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// Tx is a transaction, with flags, cohorts, their members and how often flags were
// called.
type Tx interface {
	management.Tx

	// NextMany gives n numbers of a name in a row, as Next does one, and returns the
	// first of them.
	NextMany(name string, n int64) (first int64, err error)
	// AddRecords makes records that are not there yet and have no Unique text.
	AddRecords(list []*management.Record) error

	// Definition returns a flag or cohort, deleted or not, nil when there is none.
	Definition(kind DefinitionKind, projectID, id int64) (*Definition, error)
	// DefinitionByKey returns the flag of a key that is not deleted.
	DefinitionByKey(kind DefinitionKind, projectID int64, key string) (*Definition, error)
	// Definitions returns a page of those that are not deleted, or of those that
	// are, newest first.
	Definitions(q DefinitionQuery) (page []Definition, count int, err error)
	// PutDefinition makes a definition or replaces it; an ID of 0 is given the next
	// one. The project's revision grows.
	PutDefinition(kind DefinitionKind, projectID int64, d *Definition) error
	// ReserveDefinitionIDs gives n ids in a row, for new definitions, and returns the
	// first of them.
	ReserveDefinitionIDs(kind DefinitionKind, n int) (first int64, err error)
	// PutDefinitions is PutDefinition for many that have ids.
	PutDefinitions(kind DefinitionKind, projectID int64, list []*Definition) error
	// DefinitionTotals are those of a project, with what this transaction has changed.
	DefinitionTotals(projectID int64) (DefinitionTotals, error)
	// DeleteDefinition takes a definition away for good.
	DeleteDefinition(kind DefinitionKind, projectID, id int64) error

	// AddMembers puts distinct ids into a static cohort, RemoveMembers takes them out.
	AddMembers(projectID, cohort int64, distinctIDs []string) error
	RemoveMembers(projectID, cohort int64, distinctIDs []string) error
	// Members are the distinct ids of a static cohort after one, in order.
	Members(projectID, cohort int64, after string, limit int) ([]string, error)
	// MembersOf are, by static cohort, all distinct ids of all its members, in order,
	// as flags.Members has them.
	MembersOf(projectID int64, cohorts []int64, limit flags.MembersLimit) (map[int64][]string, error)
	// SamePersons are all distinct ids of the persons who have one of some, and those
	// of nobody, in order.
	SamePersons(projectID int64, distinctIDs []string) ([]string, error)
	// FilterMembers are those of some distinct ids that are members, in order.
	FilterMembers(projectID, cohort int64, distinctIDs []string) ([]string, error)
	// CountMembers counts the persons of a static cohort; ids without a person count
	// as one each.
	CountMembers(projectID, cohort int64) (int, error)

	// GroupTypes are a project's group types by index.
	GroupTypes(projectID int64) (map[int]string, error)
	// FlagCalls are what was kept of exposures of a flag, by value.
	FlagCalls(projectID int64, key string) ([]FlagCall, error)
	// LastCalls are when flags were last called, by key.
	LastCalls(projectID int64) (map[string]time.Time, error)
	// FlagTotals are how often the first flag of a query was answered, by value, and
	// FlagHours how often in each hour those of a query were: with each of its values, or
	// with any, and then Value is empty.
	FlagTotals(q HoursQuery) (map[string]int64, error)
	FlagHours(q HoursQuery) ([]FlagHour, error)
}

// DefinitionKind is which kind of definition is meant.
type DefinitionKind int

// The kinds of definitions.
const (
	FlagDefinition DefinitionKind = iota
	CohortDefinition
)

// Definition is a flag or a cohort. Record is what /flags reads, as
// spec/flags.md §1 has it; Meta is a JSON object of this room.
type Definition struct {
	ID      int64
	Key     string // of a flag, unique among those that are not deleted
	Record  json.RawMessage
	Meta    json.RawMessage
	Origin  string // the file that it stands in, empty for none
	Deleted bool
}

// DefinitionQuery asks for a page of definitions; Match is as in management.Query.
type DefinitionQuery struct {
	Kind          DefinitionKind
	Project       int64
	Deleted       bool // asks for the deleted ones instead
	Match         func(*Definition) bool
	Offset, Limit int
}

// DefinitionTotals are how many definitions a project has that are not deleted, and
// their size in bytes: records, and what this room keeps beside them.
type DefinitionTotals struct {
	Flags, Cohorts int
	Bytes          int64
}

// FlagCall is what was kept of the calls that gave one value.
type FlagCall struct {
	Value       string
	Calls       int64
	First, Last time.Time
}

// HoursQuery asks how often flags were answered, by the hour.
type HoursQuery struct {
	Project int64
	// Evaluations are what the service has answered; else what SDKs have told with
	// exposures ($feature_flag_called, $experiment_exposure).
	Evaluations bool
	Keys        []string  // at least one
	Values      []string  // nil: any
	From, To    time.Time // the hours of From up to that before To
}

// FlagHour is how often a flag was answered in an hour.
type FlagHour struct {
	Flag, Value string
	At          time.Time // its beginning
	N           int64
}
