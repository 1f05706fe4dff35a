package management

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// Store keeps everything; a T is what is asked of a transaction. Its errors are faults
// of the store, but for what work returns, which passes unchanged.
type Store[T Tx] interface {
	// Read runs work on one state of the store; what it writes fails.
	Read(ctx context.Context, work func(T) error) error
	// Write runs work in a transaction: an error leaves everything as it was. It may
	// run more than once, so it has to begin anew each time. Where flags, cohorts or
	// projects have changed /flags sees it at once.
	Write(ctx context.Context, work func(T) error) error
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

// Tx is a transaction: what the desk asks of it, and rooms that keep only records.
// Other rooms embed it in a Tx of their own. Texts hold no U+0000 and are valid
// UTF-8; what is not is replaced.
type Tx interface {
	// Get returns a record, hidden or not, nil when there is none.
	Get(kind, parent, id string) (*Record, error)
	// Find returns the record of a kind with a Unique text, nil when there is none.
	Find(kind, unique string) (*Record, error)
	// List returns a page, and how many records there are on all pages.
	List(q Query) (page []Record, count int, err error)
	// Put makes a record or replaces it: ErrDuplicate when its Unique is another one's.
	Put(r *Record) error
	// Delete takes a record away, if it is there.
	Delete(kind, parent, id string) error
	// DeleteUnder takes all records of a kind away that belong to a parent.
	DeleteUnder(kind, parent string) error
	// Next returns the next number of a name, from 1 on. Numbers are not given twice,
	// but some may be left out.
	Next(name string) (int64, error)

	Organization(id string) (*OrganizationRecord, error) // nil: none

	Project(id int64) (*ProjectRecord, error)                // nil: none, or deleted
	ProjectByKey(apiKey string) (*ProjectRecord, error)      // nil: none
	Projects(organizationID string) ([]ProjectRecord, error) // by id; of all organizations when empty
	PutProject(p *ProjectRecord) error                       // an ID of 0 is given one; ErrDuplicate: the API key is another's

	// Key returns a key by its hash, nil when there is none.
	Key(hash string) (*KeyRecord, error)
	// PutKey makes a key, or replaces the one of the same ID, whose hash may differ.
	PutKey(k *KeyRecord) error
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

// Zone is the time zone of a project, UTC where it has none that is known.
func (p *ProjectRecord) Zone() *time.Location {
	var name string
	if json.Unmarshal(p.Settings["timezone"], &name) == nil && name != "Local" {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone
		}
	}
	return time.UTC
}

// FilterSettings are the project's settings by which filters compare, as its flags do.
func (p *ProjectRecord) FilterSettings() flags.FilterSettings {
	s := flags.FilterSettings{Zone: p.Zone()}
	_ = json.Unmarshal(p.Settings["property_matching_version"], &s.PropertyMatchingVersion) // 0 is the default
	return s
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
