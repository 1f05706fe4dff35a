package management

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// Store runs transactions. T is the interface of its transactions. Its errors are faults of the
// store, except for errors of work, which are returned unchanged. It may be used concurrently.
type Store[T Tx] interface {
	// Read runs work on a consistent state of the store. Writes in it fail.
	Read(ctx context.Context, work func(T) error) error
	// Write runs work in a transaction that is rolled back if work returns an error. The store may
	// run work more than once, so work must not depend on the results of earlier runs. After a
	// commit, /flags uses changed flags, cohorts and projects immediately.
	Write(ctx context.Context, work func(T) error) error
}

// Record is a stored object. Kind, Parent and ID identify it.
type Record struct {
	// Kind is the type of the object, such as dashboard. Parent is its owner: a project
	// (ProjectParent), an organization's id, another record's id, or empty.
	Kind, Parent, ID string
	// Other is a second key by which records can be listed; it may be empty.
	Other string
	// Sort determines the order of lists, by bytes; records with equal Sort are in the order of ID.
	Sort string
	// Unique is a string that at most one record of the kind may have; empty for no restriction.
	Unique string
	// Hidden records, such as softly deleted ones, are not in lists.
	Hidden bool
	// Data is a JSON object.
	Data json.RawMessage
}

// Query selects a page of the records of a Kind with a Parent, or with an Other if that is not
// empty.
type Query struct {
	Kind, Parent, Other string
	// Hidden selects hidden records instead of visible ones.
	Hidden bool
	// From and To select records with From <= Sort < To; an empty string is no bound.
	From, To string
	// Descending reverses the order.
	Descending bool
	// Match filters the records. The store calls it for each record, at most for MaxScan records.
	// It may be nil.
	Match func(*Record) bool
	// Offset and Limit select the page. A Limit of 0 means all records, at most MaxScan.
	Offset, Limit int
}

// MaxScan is the greatest number of records that one query reads (decision 25).
const MaxScan = 100_000

// Tx is a transaction with the methods that this package and packages with only records need. Other
// packages embed it in a Tx of their own. Stored strings contain no U+0000 and are valid UTF-8; the
// store replaces invalid bytes. A Tx must not be used concurrently or after work has returned.
type Tx interface {
	// Get returns a record, hidden or not, or nil if it does not exist.
	Get(kind, parent, id string) (*Record, error)
	// Find returns the record of a kind with a Unique string, or nil if there is none.
	Find(kind, unique string) (*Record, error)
	// List returns a page, and the number of records on all pages.
	List(q Query) (page []Record, count int, err error)
	// Put creates or replaces a record. It returns ErrDuplicate if another record has its Unique.
	Put(r *Record) error
	// Delete deletes a record. It does nothing if the record does not exist.
	Delete(kind, parent, id string) error
	// DeleteUnder deletes all records of a kind with a parent.
	DeleteUnder(kind, parent string) error
	// Next returns the next number of a sequence, which begins at 1. No number is returned twice,
	// but some may be skipped.
	Next(name string) (int64, error)
	// Now returns the time of the store's clock, which all its servers share. Calls in one
	// transaction may return the same time.
	Now() (time.Time, error)

	Organization(id string) (*OrganizationRecord, error) // nil if it does not exist

	Project(id int64) (*ProjectRecord, error)                // nil if it does not exist or is deleted
	ProjectByKey(apiKey string) (*ProjectRecord, error)      // nil if it does not exist
	Projects(organizationID string) ([]ProjectRecord, error) // by id; of all organizations if organizationID is empty
	PutProject(p *ProjectRecord) error                       // sets p.ID if it is 0; ErrDuplicate if another project has the API key

	// Key returns a key by its hash, or nil if it does not exist.
	Key(hash string) (*KeyRecord, error)
	// PutKey creates a key, or replaces the key with the same ID, whose hash may change.
	PutKey(k *KeyRecord) error
}

// OrganizationRecord is the stored form of an organization. Meta is the JSON of an
// OrganizationMeta.
type OrganizationRecord struct {
	ID, Name  string
	Quotas    map[string]*int64 // monthly limits by resource; nil means no limit
	Origin    string            // the definitions file that declares it, or empty
	CreatedAt time.Time
	Meta      json.RawMessage
}

// ProjectRecord is the stored form of a project. Settings are part of its flag definitions, and
// Meta is the JSON of a ProjectMeta.
type ProjectRecord struct {
	ID                 int64
	Organization, Name string
	APIKey             string
	Settings           map[string]json.RawMessage // timezone, bucketing_hash, property_matching_version
	AnonymizeIPs       bool
	Paused             []string // resources whose intake is paused
	Origin             string
	Deleted            bool
	CreatedAt          time.Time
	Meta               json.RawMessage
	// Browser is flags.Project.Browser.
	Browser json.RawMessage
}

// Zone returns the time zone of the project, or UTC if its setting is absent or unknown.
func (p *ProjectRecord) Zone() *time.Location {
	var name string
	if json.Unmarshal(p.Settings["timezone"], &name) == nil && name != "Local" {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone
		}
	}
	return time.UTC
}

// FilterSettings returns the settings with which filters compare values, as the project's flags do.
func (p *ProjectRecord) FilterSettings() flags.FilterSettings {
	s := flags.FilterSettings{Zone: p.Zone()}
	_ = json.Unmarshal(p.Settings["property_matching_version"], &s.PropertyMatchingVersion) // 0 is the default
	return s
}

// KeyRecord is the stored form of a personal or secret key. The key itself is not stored, only its
// hash.
type KeyRecord struct {
	ID, Hash, Mask, Label string
	Secret                bool
	User                  int64 // 0 if no user owns it yet
	// Scopes are the scopes of the key; nil means all. Projects and Organizations limit the key; if
	// empty, it opens all that the user can access. A secret key has exactly one project.
	Scopes        []string
	Projects      []int64
	Organizations []string
	Origin        string
	CreatedAt     time.Time
	LastUsedAt    time.Time
	LastRolledAt  time.Time
}
