package organizations

import (
	"time"

	"github.com/bunting-flags/bunting/management"
)

// Tx is a transaction with the methods for organizations, keys and usage.
type Tx interface {
	management.Tx

	Organizations() ([]management.OrganizationRecord, error) // by id
	PutOrganization(o *management.OrganizationRecord) error
	// DeleteOrganization deletes an organization, which must have no projects.
	DeleteOrganization(id string) error

	SecretKeys(projectID int64) ([]management.KeyRecord, error) // the secret keys that open the project
	// KeyByID returns a key, or nil if it does not exist.
	KeyByID(id string) (*management.KeyRecord, error)
	// Keys returns the personal keys of a user, newest first, or those without a user if user is 0.
	Keys(user int64) ([]management.KeyRecord, error)
	DeleteKey(id string) error

	// GroupTypes returns the names of a project's group types by index.
	GroupTypes(projectID int64) (map[int]string, error)
	// KeyUsage returns the usage of a project since a day by day, resource, key and SDK.
	KeyUsage(projectID int64, since time.Time) ([]KeyUsage, error)
	// Usage returns an organization's usage of a resource since a time, by day.
	Usage(organizationID, resource string, since time.Time) ([]DayUsage, error)
}

// KeyUsage is the usage of a resource by one SDK with one key on one UTC day. Key is "project" for
// the project's public key, otherwise the mask of the key.
type KeyUsage struct {
	Day                time.Time
	Project            int64
	Resource, Key, SDK string
	N                  int64
}

// DayUsage is the usage of one project on one UTC day.
type DayUsage struct {
	Day     time.Time
	Project int64
	N       int64
}
