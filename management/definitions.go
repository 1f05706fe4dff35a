package management

import (
	"encoding/json"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// DefinitionTx is a transaction of the store: the records of management.Tx, the definitions of flags and
// cohorts, the members of static cohorts, and the numbers of calls of flags. A Tx belongs to one
// goroutine.
type DefinitionTx interface {
	Tx

	// NextMany reserves n consecutive numbers of the sequence name, like n calls of Next, and
	// returns the first of them.
	NextMany(name string, n int64) (first int64, err error)
	// AddRecords inserts records that do not exist yet and have an empty Unique.
	AddRecords(list []*Record) error

	// Definition returns a flag or cohort, deleted or not, or nil if there is no such definition.
	Definition(kind DefinitionKind, projectID, id int64) (*Definition, error)
	// DefinitionByKey returns the flag with a key that is not deleted, or nil if there is no such
	// flag.
	DefinitionByKey(kind DefinitionKind, projectID int64, key string) (*Definition, error)
	// Definitions returns one page of the definitions that are not deleted, or of the deleted
	// definitions if q.Deleted is set, newest first, and the number of definitions on all pages.
	Definitions(q DefinitionQuery) (page []Definition, count int, err error)
	// PutDefinition inserts or replaces a definition. If d.ID is 0, it sets d.ID to the next id. It
	// increments the revision of the project.
	PutDefinition(kind DefinitionKind, projectID int64, d *Definition) error
	// ReserveDefinitionIDs reserves n consecutive ids for new definitions and returns the first of
	// them.
	ReserveDefinitionIDs(kind DefinitionKind, n int) (first int64, err error)
	// PutDefinitions is like PutDefinition for several definitions, each of which has an id.
	PutDefinitions(kind DefinitionKind, projectID int64, list []*Definition) error
	// DefinitionTotals returns the totals of a project, including the changes of this transaction.
	DefinitionTotals(projectID int64) (DefinitionTotals, error)
	// DeleteDefinition removes a definition permanently.
	DeleteDefinition(kind DefinitionKind, projectID, id int64) error

	// AddMembers adds distinct ids to a static cohort, and RemoveMembers removes them.
	AddMembers(projectID, cohort int64, distinctIDs []string) error
	RemoveMembers(projectID, cohort int64, distinctIDs []string) error
	// Members returns, in order, up to limit distinct ids of a static cohort that sort after a
	// given id.
	Members(projectID, cohort int64, after string, limit int) ([]string, error)
	// MembersOf returns, by static cohort, all distinct ids of all its members, in order. Cohorts
	// that do not fit the limit are omitted, the largest first, as in serving.Members.
	MembersOf(projectID int64, cohorts []int64, limit flags.MembersLimit) (map[int64][]string, error)
	// SamePersons returns, in order, all distinct ids of the persons who have one of distinctIDs,
	// and the distinctIDs that belong to no person.
	SamePersons(projectID int64, distinctIDs []string) ([]string, error)
	// FilterMembers returns, in order, the distinctIDs that are members of a static cohort.
	FilterMembers(projectID, cohort int64, distinctIDs []string) ([]string, error)
	// CountMembers returns the number of persons in a static cohort. A distinct id without a person
	// counts as one person.
	CountMembers(projectID, cohort int64) (int, error)

	// GroupTypes returns the names of a project's group types by index.
	GroupTypes(projectID int64) (map[int]string, error)
	// FlagCalls returns the recorded exposures of a flag, one entry for each value.
	FlagCalls(projectID int64, key string) ([]FlagCall, error)
	// LastCalls returns the time of the last exposure of each flag, by key.
	LastCalls(projectID int64) (map[string]time.Time, error)
	// UnseenEvents returns those of some names that no event of the project has had so far, and none
	// if the project has no event at all.
	UnseenEvents(projectID int64, names []string) ([]string, error)
	// FlagTotals returns the number of evaluations or exposures of the first flag of a query, by
	// value; it ignores q.Values. FlagHours returns the numbers by hour for all flags of a query:
	// for each of q.Values, or, if q.Values is nil, for all values together, with an empty
	// FlagHour.Value.
	FlagTotals(q HoursQuery) (map[string]int64, error)
	FlagHours(q HoursQuery) ([]FlagHour, error)
}

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

// CodeLimit is the error code of writes that would exceed a limit of the definitions of a project.
const CodeLimit = "limit_exceeded"

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
