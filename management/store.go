package management

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// Store keeps everything. Its errors are faults of the store, but for what work
// returns, which passes unchanged.
type Store interface {
	// Read runs work on one state of the store; what it writes fails.
	Read(ctx context.Context, work func(Tx) error) error
	// Write runs work in a transaction: an error leaves everything as it was. It may
	// run more than once, so it has to begin anew each time. Where flags, cohorts or
	// projects have changed /flags sees it at once.
	Write(ctx context.Context, work func(Tx) error) error
}

// Record is one thing that is kept. Kind, Parent and ID name it.
type Record struct {
	// Kind is what it is, such as dashboard; Parent where it belongs: a project
	// (ProjectParent), an organization's id, another record's id, or nothing.
	Kind, Parent, ID string
	// Other is a second place under which it is listed, empty for none.
	Other string
	// Sort orders a list, byte by byte; the ID decides between equal ones.
	Sort string
	// Unique may be had by one record of the kind at a time, empty by any.
	Unique string
	// Hidden records are left out of lists, such as those that are deleted softly.
	Hidden bool
	// Data is a JSON object.
	Data json.RawMessage
}

// Query asks for a page of records, of one Parent, or of one Other when that is
// not empty.
type Query struct {
	Kind, Parent, Other string
	// Hidden asks for the hidden records instead.
	Hidden bool
	// From <= Sort < To; empty is no bound.
	From, To string
	// Descending turns the order round.
	Descending bool
	// Match narrows the list down; the store reads the records one by one for it, at
	// most MaxScan of them.
	Match func(*Record) bool
	// Limit of 0 is no limit but MaxScan.
	Offset, Limit int
}

// MaxScan is how many records one query may look at (decision 25).
const MaxScan = 100_000

// Tx is a transaction. Texts hold no U+0000 and are valid UTF-8; what is not is
// replaced.
type Tx interface {
	// Get returns a record, hidden or not, nil when there is none.
	Get(kind, parent, id string) (*Record, error)
	// Find returns the record of a kind with a Unique text, nil when there is none.
	Find(kind, unique string) (*Record, error)
	// List returns a page, and how many records there are on all pages.
	List(q Query) (page []Record, count int, err error)
	// Put makes a record or replaces it: ErrTaken when its Unique is another one's.
	Put(r *Record) error
	// Delete takes a record away, if it is there.
	Delete(kind, parent, id string) error
	// DeleteUnder takes all records of a kind away that belong to a parent.
	DeleteUnder(kind, parent string) error
	// Next returns the next number of a name, from 1 on. Numbers are not given twice,
	// but some may be left out.
	Next(name string) (int64, error)
	// NextMany gives n numbers in a row and returns the first of them.
	NextMany(name string, n int64) (first int64, err error)
	// AddRecords makes records that are not there yet and have no Unique text.
	AddRecords(list []*Record) error

	Organization(id string) (*OrganizationRecord, error) // nil: none
	Organizations() ([]OrganizationRecord, error)        // by id
	PutOrganization(o *OrganizationRecord) error
	// DeleteOrganization takes an organization away that has no projects.
	DeleteOrganization(id string) error

	Project(id int64) (*ProjectRecord, error)                // nil: none, or deleted
	ProjectByKey(apiKey string) (*ProjectRecord, error)      // nil: none
	Projects(organizationID string) ([]ProjectRecord, error) // by id; of all organizations when empty
	PutProject(p *ProjectRecord) error                       // an ID of 0 is given one; ErrTaken: the API key is another's
	SecretKeys(projectID int64) ([]KeyRecord, error)         // of kind secret that open the project
	// Key returns a key by its hash, nil when there is none.
	Key(hash string) (*KeyRecord, error)
	// KeyByID returns a personal key.
	KeyByID(id string) (*KeyRecord, error)
	// Keys are the personal keys of a user, newest first; of nobody when user is 0.
	Keys(user int64) ([]KeyRecord, error)
	// PutKey makes a key, or replaces the one of the same ID, whose hash may differ.
	PutKey(k *KeyRecord) error
	DeleteKey(id string) error

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
	// NumberDefinitions gives n ids in a row, for new definitions, and returns the
	// first of them.
	NumberDefinitions(kind DefinitionKind, n int) (first int64, err error)
	// PutDefinitions is PutDefinition for many that have ids.
	PutDefinitions(kind DefinitionKind, projectID int64, list []*Definition) error
	// DefinitionTotals are those of a project, with what this transaction has changed.
	DefinitionTotals(projectID int64) (DefinitionTotals, error)
	// DropDefinition takes a definition away for good.
	DropDefinition(kind DefinitionKind, projectID, id int64) error

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
	// MembersAmong are those of some distinct ids that are members, in order.
	MembersAmong(projectID, cohort int64, distinctIDs []string) ([]string, error)
	// CountMembers counts the persons of a static cohort; ids without a person count
	// as one each.
	CountMembers(projectID, cohort int64) (int, error)

	// GroupTypes are a project's group types by index.
	GroupTypes(projectID int64) (map[int]string, error)
	// FlagCalls are what was kept of $feature_flag_called for a flag, by value.
	FlagCalls(projectID int64, key string) ([]FlagCall, error)
	// Spent is what was spent in a project since a day, by day, resource, key and SDK.
	Spent(projectID int64, since time.Time) ([]Spent, error)
	// Usage is what an organization has used of a resource since a time, by day.
	Usage(organizationID, resource string, since time.Time) ([]DayUsage, error)
}

// OrganizationRecord is an organization as it is stored. Meta is a JSON object of
// this room.
type OrganizationRecord struct {
	ID, Name  string
	Quotas    map[string]*int64 // limits a month by resource, nil is none
	Origin    string            // the file that it stands in, empty for none
	CreatedAt time.Time
	Meta      json.RawMessage
}

// ProjectRecord is a project as it is stored. Settings go into its definitions,
// Meta is a JSON object of this room.
type ProjectRecord struct {
	ID                 int64
	Organization, Name string
	APIKey             string
	Settings           map[string]json.RawMessage // timezone, bucketing_hash, property_matching_version
	AnonymizeIPs       bool
	Paused             []string // resources
	Origin             string
	Deleted            bool
	CreatedAt          time.Time
	Meta               json.RawMessage
	// Browser is flags.Project.Browser.
	Browser json.RawMessage
}

// KeyRecord is a personal or secret key as it is stored: its hash, never itself.
type KeyRecord struct {
	ID, Hash, Mask, Label string
	Secret                bool
	User                  int64 // 0: nobody's yet
	// Scopes of nil are all of them. Projects and Organizations of none are all
	// that the user reaches; a secret key has one project.
	Scopes        []string
	Projects      []int64
	Organizations []string
	Origin        string
	CreatedAt     time.Time
	LastUsedAt    time.Time
	LastRolledAt  time.Time
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

// DefinitionQuery asks for a page of definitions; Match is as in Query.
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

// Spent is what one SDK has spent of a resource on one UTC day. Key is project for
// the project's public key, else what may be shown of the key.
type Spent struct {
	Day                time.Time
	Project            int64
	Resource, Key, SDK string
	N                  int64
}

// DayUsage is what one project used on one UTC day.
type DayUsage struct {
	Day     time.Time
	Project int64
	N       int64
}
