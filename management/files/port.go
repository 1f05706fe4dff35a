package files

import "github.com/bunting-flags/bunting/management"

// Organization is a stored organization.
type Organization struct {
	ID, Name string
	Quotas   string // a JSON object, with sorted members if a file has written it
	Origin   string
}

// Project is a stored project.
type Project struct {
	ID                         int64
	Organization, Name, APIKey string
	Settings                   string // a JSON object, as Organization.Quotas
	Paused                     []string
	Origin                     string
	Deleted                    bool
}

// Record is a stored flag or cohort. Cohorts have no key.
type Record struct {
	Key, Text, Origin string
	Deleted           bool
}

// Key is a stored personal key or secret key, of which only the hash is known.
type Key struct {
	Hash, Mask string
	// Secret is true for a secret key of a project, false for a personal key.
	Secret bool
	Scopes []string
	// A key has access to Projects or to Organizations, or to everything if both are
	// empty.
	Projects      []int64
	Organizations []string
	// Origin is the path of the file, empty for a key that was created through the API.
	Origin string
	// WithoutUser is set to write the key without the user whose key it was.
	WithoutUser bool
}

// Tx is a transaction of a store in which a definitions file is applied.
type Tx interface {
	// Text returns the form in which the store keeps a text. Names and keys of flags are
	// compared in this form.
	Text(s string) string
	// Organization returns an organization, or nil if it does not exist.
	Organization(id string) (*Organization, error)
	// PutOrganization inserts or replaces an organization.
	PutOrganization(o *Organization) error
	// ReleaseOrganizations removes the origin from all organizations of a file except
	// one.
	ReleaseOrganizations(origin, except string) error
	// Projects returns all projects by id. Deleted ones are included, because their ids
	// and keys stay reserved.
	Projects() ([]Project, error)
	// Lock acquires the locks of projects, whose ids must be in ascending order.
	Lock(ids []int64) error
	// PutProject inserts or replaces a project. newRevision increases the revision of an
	// existing one.
	PutProject(p *Project, newRevision bool) error
	// GroupTypes returns the names of a project's group types by their number, with ""
	// for a free number.
	GroupTypes(project int64) ([]string, error)
	AddGroupType(project int64, number int, name string) error
	// Records returns the flags or the cohorts of a project by id, deleted ones too.
	Records(kind management.DefinitionKind, project int64) (map[int64]Record, error)
	// PutRecord inserts or replaces a record.
	PutRecord(kind management.DefinitionKind, project, id int64, r Record) error
	// DeleteRecord deletes a record softly. A cohort loses its members.
	DeleteRecord(kind management.DefinitionKind, project, id int64) error
	// SetMembers replaces the members of a static cohort, and reports whether they were
	// different ones.
	SetMembers(project, cohort int64, distinctIDs []string) (changed bool, err error)
	// Keys returns the keys that have an origin.
	Keys() ([]Key, error)
	// Key returns a key, or nil if it does not exist.
	Key(hash string) (*Key, error)
	// PutKey inserts or replaces a key. Its user stays, unless WithoutUser is set.
	PutKey(k *Key) error
	DeleteKey(hash string) error
}
