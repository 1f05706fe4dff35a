// Package rooms opens all packages of management on one store, and connects those that use each
// other's data. It has no rules of its own.
package rooms

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/batchexports"
	"github.com/bunting-flags/bunting/management/changes"
	"github.com/bunting-flags/bunting/management/cohorts"
	"github.com/bunting-flags/bunting/management/dashboards"
	"github.com/bunting-flags/bunting/management/earlyaccess"
	"github.com/bunting-flags/bunting/management/errortracking"
	"github.com/bunting-flags/bunting/management/experiments"
	"github.com/bunting-flags/bunting/management/featureflags"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rollouts"
	"github.com/bunting-flags/bunting/management/surveys"
)

// Config has the environment of all packages. Only Store is required.
type Config struct {
	Store Store
	// Now returns the current time. If nil, it is time.Now.
	Now func() time.Time
	// NewID returns a new id. If nil, ids are random UUIDs.
	NewID func() string
	// SiteURL is the public address of the server for links in e-mails, such as
	// https://flags.example.com, without a final slash. It is required with a Mailer, because mails
	// must not contain an address that a request has supplied.
	SiteURL string
	// Resolver looks up DNS records of domains. If nil, no domain can be verified.
	Resolver organizations.Resolver
	// ChallengeHost is the label in front of a domain in the name of its TXT record. If empty, it
	// is organizations.DefaultChallengeHost.
	ChallengeHost string
	// Mailer hands mails to a mail server. If nil, no mails are sent.
	Mailer organizations.Mailer
	// MailQueued is called when there may be new mails in the outbox, so that the program calls
	// Organizations.Mails.Deliver. It must not block. It may be nil.
	MailQueued func()
	// RunQuery runs the queries of alerts: see dashboards.Config. If nil, alerts are not checked.
	RunQuery func(ctx context.Context, p *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error)
	// Measure queries the events for guarded rollouts and experiments: see rollouts.Config and
	// experiments.New. If nil, rollouts are not judged.
	Measure func(ctx context.Context, p *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error)
	// Lag, RolloutInterval and RolloutSlowed are also for guarded rollouts: see rollouts.Config.
	Lag             func(ctx context.Context) (time.Duration, error)
	RolloutInterval time.Duration
	RolloutSlowed   func(project, rollout int64, took, next time.Duration)
	// Poster sends webhooks. If nil, there are no webhooks.
	Poster organizations.Poster
	// SessionIdle and SessionLife limit the sessions of browsers: see organizations.Config.
	SessionIdle, SessionLife time.Duration
	// Authenticators checks passkeys: see organizations.Config. If nil, there are no passkeys.
	Authenticators organizations.Authenticators
	// Provider signs users in with OpenID Connect. If nil, there is no such sign-in.
	Provider organizations.Provider
	// People reads persons and groups, for cohorts and previews. If nil, there are no persons.
	People management.People
	// Events is the log of events whose exceptions become issues. If nil, there are no issues.
	Events errortracking.EventLog
	// ExportRows reads the rows of batch exports, and ExportRunner writes them. If nil, this server
	// runs no exports.
	ExportRows   batchexports.Rows
	ExportRunner batchexports.Runner
	// ExportWatch is how often a run renews its lease and checks whether it was cancelled. If zero,
	// it is 10 seconds; it must be well below a minute.
	ExportWatch time.Duration
	// JobDone is called with the result of scheduled changes, exports and other jobs. It may be
	// called concurrently. If nil, results are not reported.
	JobDone func(management.JobDone)
}

// Rooms has the services of all packages, and in Service the authentication of callers. Open sets
// all of them. The server has no endpoints for a service that is nil.
type Rooms struct {
	*management.Service
	BatchExports  *batchexports.Service
	Changes       *changes.Service
	Cohorts       *cohorts.Service
	Dashboards    *dashboards.Service
	EarlyAccess   *earlyaccess.Service
	ErrorTracking *errortracking.Service
	Experiments   *experiments.Service
	FeatureFlags  *featureflags.Flags
	Organizations *organizations.Service
	Rollouts      *rollouts.Service
	Surveys       *surveys.Service
}

// Open opens all services on the store of c. It returns an error if Store is nil, or if there is a
// Mailer without a SiteURL.
func Open(c Config) (*Rooms, error) {
	if c.Store == nil {
		return nil, errors.New("management: Config.Store is required")
	}
	env := envOf(&c, func(tx Tx) management.Tx { return tx })
	orgs, err := organizations.New(organizations.Config{
		Env: envOf(&c, func(tx Tx) organizations.Tx { return tx }), SiteURL: c.SiteURL, Resolver: c.Resolver, ChallengeHost: c.ChallengeHost,
		Mailer: c.Mailer, MailQueued: c.MailQueued, Poster: c.Poster, JobDone: c.JobDone, SurveysRun: surveys.HasRunning,
		SessionIdle: c.SessionIdle, SessionLife: c.SessionLife, Authenticators: c.Authenticators, Provider: c.Provider,
	})
	if err != nil {
		return nil, err
	}
	dashboardConfig := dashboards.Config{Env: env, RunQuery: c.RunQuery}
	if c.Mailer != nil {
		dashboardConfig.Notify, dashboardConfig.MailQueued = orgs.QueueNotice, c.MailQueued
	}
	boards := dashboards.New(dashboardConfig)
	definitions := envOf(&c, func(tx Tx) definitions.Tx { return tx })
	cohortService := cohorts.New(cohorts.Config{Env: definitions, People: c.People, Experiments: experiments.OfCohort})
	flagService := featureflags.New(featureflags.Config{
		Env: definitions, Cohorts: cohortService, People: c.People, HasDashboard: dashboards.Exists, MakeUsage: boards.MakeUsage, EnrichUsage: boards.EnrichUsage,
		CopySchedule: changes.CopySchedule, SurveyObject: surveys.AccessObject,
	})
	rolloutConfig := rollouts.Config{Env: definitions, Measure: c.Measure, Lag: c.Lag, Interval: c.RolloutInterval, Slowed: c.RolloutSlowed}
	if c.Mailer != nil {
		rolloutConfig.Notify = orgs.QueueNotice
	}
	if c.Poster != nil {
		rolloutConfig.Webhook, rolloutConfig.CheckWebhook = orgs.QueueWebhook, c.Poster.Check
	}
	r := &Rooms{
		BatchExports:  batchexports.New(batchexports.Config{Env: env, Rows: c.ExportRows, Runner: c.ExportRunner, Watch: c.ExportWatch, JobDone: c.JobDone}),
		Changes:       changes.New(changes.Config{Env: definitions, Flags: flagService, JobDone: c.JobDone}),
		Cohorts:       cohortService,
		Dashboards:    boards,
		EarlyAccess:   earlyaccess.New(definitions),
		ErrorTracking: errortracking.New(errortracking.Config{Env: env, Events: c.Events}),
		Experiments:   experiments.New(definitions, *flagService, cohortService, c.Measure),
		FeatureFlags:  flagService,
		Organizations: orgs,
		Rollouts:      rollouts.New(rolloutConfig),
		Surveys:       surveys.New(surveys.Config{Env: definitions, Changed: orgs.SurveysChanged, HasInsight: dashboards.InsightExists, JobDone: c.JobDone}),
	}
	r.Service = &management.Service{Env: env, Finders: r.Dashboards.Finders()}
	for _, finders := range []map[string]management.Finder{r.Cohorts.Finders(), r.Experiments.Finders(), r.FeatureFlags.Finders(), r.Surveys.Finders()} {
		maps.Copy(r.Finders, finders)
	}
	return r, nil
}
