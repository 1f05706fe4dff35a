package featureflags

import (
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/cohorts"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// Config is the configuration of Flags. Env and Cohorts are required, and every other field is
// optional. A function that receives a transaction is called within that transaction: if it returns
// an error, the change is rolled back.
type Config struct {
	// Env has the store, the clock and the log of changes, which all resources share.
	Env management.Env[storeTx]
	// Cohorts creates the cohort of the persons for whom a flag is on.
	Cohorts *cohorts.Service
	// People reads persons and groups, for previews. If nil, the project has no persons.
	People management.People
	// HasDashboard reports whether a project has a dashboard with an id. If nil, it reports false.
	HasDashboard func(tx management.Tx, project, id int64) (bool, error)
	// MakeUsage creates the dashboard about the use of the flag with a key and returns its id,
	// which is 0 if the caller may not create dashboards. EnrichUsage adds to that dashboard charts
	// of the persons who saw and used the feature. If MakeUsage is nil, flags get no dashboard.
	MakeUsage   func(tx management.Tx, scope *management.Scope, key string) (dashboard int64, err error)
	EnrichUsage func(tx management.Tx, scope *management.Scope, dashboard int64, key string) error
	// CopySchedule reads the changes of a flag that are scheduled, and returns a function that stores
	// copies of them for a flag in another project. If nil, they are not copied with the flag.
	CopySchedule func(tx storeTx, from *management.Scope, f *storedflags.Flag) (paste func(tx storeTx, to *management.Scope, d *management.Definition) error, err error)
	// SurveyObject returns a survey as access rules refer to it, or nil if there is no such survey. If
	// SurveyObject is nil, there are no surveys.
	SurveyObject func(tx storeTx, scope *management.Scope, id string) (*management.AccessObject, error)
}

// Flags manages feature flags (§5.1). Its methods may be called from several goroutines. They
// return *management.Error for faults of the request; other errors are faults of the store.
type Flags struct{ *core }

// core is the state of Flags.
type core struct {
	Config
	stored storedflags.Store
	flags  resource.Resource[storeTx, storedflags.Flag, Flag]
}

// storeTx is a transaction of the store.
type storeTx = definitions.Tx

// view is a transaction of this package with the scope of the caller.
type view = resource.View[storeTx]

// PlainError is an error that the API returns in the form {"error": text}.
type PlainError string

// pasteFunc stores copies of what belongs to a flag with its copy d in the project of a scope.
type pasteFunc = func(tx storeTx, to *management.Scope, d *management.Definition) error
