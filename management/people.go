package management

import (
	"context"
	"time"
)

// People reads the stored persons and groups. An error is a fault of the store. Its methods may be
// called from several goroutines.
type People interface {
	// Persons calls visit for each person of a project, newest first, until visit returns false.
	Persons(ctx context.Context, projectID int64, visit func(*Person) bool) error
	// PersonByUUID and PersonByDistinctID return nil if there is no such person.
	PersonByUUID(ctx context.Context, projectID int64, uuid string) (*Person, error)
	PersonByDistinctID(ctx context.Context, projectID int64, distinctID string) (*Person, error)
	// CountPersons returns the number of persons of a project.
	CountPersons(ctx context.Context, projectID int64) (int, error)
	// Groups calls visit for each group of a group type, in the order of keys, until visit returns
	// false.
	Groups(ctx context.Context, projectID int64, index int, visit func(key string, properties map[string]any) bool) error
}

// Person is a person in its current stored state.
type Person struct {
	UUID string
	// Name is the display name. It may be empty, and then follows from the other fields.
	Name        string
	DistinctIDs []string
	Properties  map[string]any
	CreatedAt   time.Time
}
