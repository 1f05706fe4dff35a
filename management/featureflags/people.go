package featureflags

import (
	"context"
	"time"
)

// People reads the persons and groups that events have described. Its errors are
// faults of the store.
type People interface {
	// Persons calls visit for the persons of a project, newest first, until it says
	// false.
	Persons(ctx context.Context, projectID int64, visit func(*Person) bool) error
	// PersonByUUID and PersonByDistinctID return nil for nobody.
	PersonByUUID(ctx context.Context, projectID int64, uuid string) (*Person, error)
	PersonByDistinctID(ctx context.Context, projectID int64, distinctID string) (*Person, error)
	CountPersons(ctx context.Context, projectID int64) (int, error)
	// Groups calls visit for the groups of a type, by key, until it says false.
	Groups(ctx context.Context, projectID int64, index int, visit func(key string, properties map[string]any) bool) error
}

// Person is a person as it is stored now.
type Person struct {
	UUID        string
	DistinctIDs []string
	Properties  map[string]any
	CreatedAt   time.Time
}
