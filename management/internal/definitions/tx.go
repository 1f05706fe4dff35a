package definitions

import (
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// Tx is a transaction of the store: the records of management.Tx, the definitions of flags and
// cohorts, the members of static cohorts, and the numbers of calls of flags. A Tx belongs to one
// goroutine.
type Tx interface {
	management.Tx

	// NextMany reserves n consecutive numbers of the sequence name, like n calls of Next, and
	// returns the first of them.
	NextMany(name string, n int64) (first int64, err error)
	// AddRecords inserts records that do not exist yet and have an empty Unique.
	AddRecords(list []*management.Record) error

	// Definition returns a flag or cohort, deleted or not, or nil if there is no such definition.
	Definition(kind management.DefinitionKind, projectID, id int64) (*management.Definition, error)
	// DefinitionByKey returns the flag with a key that is not deleted, or nil if there is no such
	// flag.
	DefinitionByKey(kind management.DefinitionKind, projectID int64, key string) (*management.Definition, error)
	// Definitions returns one page of the definitions that are not deleted, or of the deleted
	// definitions if q.Deleted is set, newest first, and the number of definitions on all pages.
	Definitions(q management.DefinitionQuery) (page []management.Definition, count int, err error)
	// PutDefinition inserts or replaces a definition. If d.ID is 0, it sets d.ID to the next id. It
	// increments the revision of the project.
	PutDefinition(kind management.DefinitionKind, projectID int64, d *management.Definition) error
	// ReserveDefinitionIDs reserves n consecutive ids for new definitions and returns the first of
	// them.
	ReserveDefinitionIDs(kind management.DefinitionKind, n int) (first int64, err error)
	// PutDefinitions is like PutDefinition for several definitions, each of which has an id.
	PutDefinitions(kind management.DefinitionKind, projectID int64, list []*management.Definition) error
	// DefinitionTotals returns the totals of a project, including the changes of this transaction.
	DefinitionTotals(projectID int64) (management.DefinitionTotals, error)
	// DeleteDefinition removes a definition permanently.
	DeleteDefinition(kind management.DefinitionKind, projectID, id int64) error

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
	FlagCalls(projectID int64, key string) ([]management.FlagCall, error)
	// LastCalls returns the time of the last exposure of each flag, by key.
	LastCalls(projectID int64) (map[string]time.Time, error)
	// UnseenEvents returns those of some names that no event of the project has had so far, and none
	// if the project has no event at all.
	UnseenEvents(projectID int64, names []string) ([]string, error)
	// FlagTotals returns the number of evaluations or exposures of the first flag of a query, by
	// value; it ignores q.Values. FlagHours returns the numbers by hour for all flags of a query:
	// for each of q.Values, or, if q.Values is nil, for all values together, with an empty
	// FlagHour.Value.
	FlagTotals(q management.HoursQuery) (map[string]int64, error)
	FlagHours(q management.HoursQuery) ([]management.FlagHour, error)
}

// CodeLimit is the error code of writes that would exceed a limit of the definitions of a project.
const CodeLimit = "limit_exceeded"
