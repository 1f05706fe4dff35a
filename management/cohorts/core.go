package cohorts

import (
	"encoding/json"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storedcohorts"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// Service manages cohorts (§5.2): sets of persons, defined by filters (dynamic) or by a list
// (static).
type Service struct{ *Config }

// Config is the configuration of a Service. Env is required, and every other field is optional.
type Config struct {
	// Env has the store, the clock and the log of changes.
	Env management.Env[storeTx]
	// People reads persons. If nil, the project has no persons.
	People management.People
	// Experiments returns the ids of the experiments with an exposure cohort. If nil, there are none.
	Experiments func(tx storeTx, scope *management.Scope, cohort int64) ([]storedflags.LinkID, error)
}

// Cohort is a cohort as the API returns it.
type Cohort struct {
	ID              int64                  `json:"id"`
	Name            *string                `json:"name"`
	Description     string                 `json:"description"`
	Groups          json.RawMessage        `json:"groups"`
	Deleted         bool                   `json:"deleted"`
	Filters         json.RawMessage        `json:"filters"`
	Query           json.RawMessage        `json:"query"`
	IsCalculating   bool                   `json:"is_calculating"` // always false: writes count the persons before they return
	CreatedBy       *management.UserView   `json:"created_by"`
	CreatedAt       management.Stamp       `json:"created_at"`
	LastCalculation management.Stamp       `json:"last_calculation"`
	Errors          int                    `json:"errors_calculating"` // failed counts since the last successful one
	Count           *int                   `json:"count"`              // number of persons, null before the first count
	Static          bool                   `json:"is_static"`
	Type            *string                `json:"cohort_type"`
	Experiments     []storedflags.LinkID   `json:"experiment_set"`
	Access          management.AccessLevel `json:"user_access_level"`
}

// ViewOf returns the cohort without the members that depend on other records.
func ViewOf(c *storedcohorts.Cohort) *Cohort {
	return &Cohort{
		ID: c.ID, Name: c.Name, Description: c.Description, Groups: definitions.JSONOr(c.Groups, "[]"), Deleted: c.Deleted,
		Filters: definitions.JSONOr(c.Filters, "null"), Query: definitions.JSONOr(c.Query, "null"), CreatedAt: c.CreatedAt,
		LastCalculation: c.LastCalculation, Errors: c.Errors, Count: c.Count, Static: c.Static, Type: c.Type,
	}
}

// storeTx is a transaction of the store.
type storeTx = definitions.Tx

// view is a transaction with the scope of the caller.
type view = resource.View[storeTx]
