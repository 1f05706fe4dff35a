package organizations

import (
	"time"

	"github.com/bunting-flags/bunting/management"
)

// Tx is a transaction, with organizations, keys and what was used.
type Tx interface {
	management.Tx

	Organizations() ([]management.OrganizationRecord, error) // by id
	PutOrganization(o *management.OrganizationRecord) error
	// DeleteOrganization takes an organization away that has no projects.
	DeleteOrganization(id string) error

	SecretKeys(projectID int64) ([]management.KeyRecord, error) // of kind secret that open the project
	// KeyByID returns a personal key.
	KeyByID(id string) (*management.KeyRecord, error)
	// Keys are the personal keys of a user, newest first; of nobody when user is 0.
	Keys(user int64) ([]management.KeyRecord, error)
	DeleteKey(id string) error

	// GroupTypes are a project's group types by index.
	GroupTypes(projectID int64) (map[int]string, error)
	// KeyUsage is what was spent in a project since a day, by day, resource, key and SDK.
	KeyUsage(projectID int64, since time.Time) ([]KeyUsage, error)
	// usage is what an organization has used of a resource since a time, by day.
	Usage(organizationID, resource string, since time.Time) ([]DayUsage, error)
}

// KeyUsage is what one SDK has spent of a resource on one UTC day. Key is project for
// the project's public key, else what may be shown of the key.
type KeyUsage struct {
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
