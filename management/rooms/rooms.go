// Package rooms opens all rooms of management on one store, and introduces those
// that meet to each other. It holds no rule.
package rooms

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/batchexports"
	"github.com/bunting-flags/bunting/management/dashboards"
	"github.com/bunting-flags/bunting/management/errortracking"
	"github.com/bunting-flags/bunting/management/featureflags"
	"github.com/bunting-flags/bunting/management/organizations"
)

// Config says what the rooms stand on. Only Store is required.
type Config struct {
	Store Store
	// Now is the clock, time.Now when nil.
	Now func() time.Time
	// NewID makes ids, random UUIDs when nil.
	NewID func() string
	// SiteURL is where people reach the server, for links in e-mails, such as
	// https://flags.example.com; without a slash at its end. It is required with a
	// Mailer: what a request says of the server must not come into mails.
	SiteURL string
	// Resolver asks the DNS for domains. Nil: no domain can be verified.
	Resolver organizations.Resolver
	// ChallengeHost is where a domain's TXT record stands, organizations.DefaultChallengeHost when
	// empty.
	ChallengeHost string
	// Mailer hands mails to a mail server. Nil: no mails are sent.
	Mailer organizations.Mailer
	// MailQueued is called when mails may have come into the outbox, for whoever calls
	// Organizations.DeliverMail. It must not block. May be nil.
	MailQueued func()
	// RunQuery runs the queries of alerts: see dashboards.Config. Nil: no alert is checked.
	RunQuery func(ctx context.Context, p *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error)
	// Measure asks the events about guarded rollouts: see featureflags.Config. Nil: none is
	// judged.
	Measure func(ctx context.Context, p *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error)
	// Lag and RolloutInterval are of rollouts too: see featureflags.Config.
	Lag             func(ctx context.Context) (time.Duration, error)
	RolloutInterval time.Duration
	// SessionIdle and SessionLife bound sessions of browsers: see organizations.Config.
	SessionIdle, SessionLife time.Duration
	// Authenticators checks passkeys: see organizations.Config. Nil: nobody signs in with
	// one.
	Authenticators organizations.Authenticators
	// Provider signs people in with OpenID Connect. Nil: nobody does.
	Provider organizations.Provider
	// People reads persons and groups, for cohorts and previews. Nil: there are none.
	People featureflags.People
	// Events is the log of events, out of whose exceptions issues are made. Nil:
	// there are none.
	Events errortracking.EventLog
	// ExportRows reads what batch exports write, ExportRunner writes it. Nil: this
	// server runs no exports.
	ExportRows   batchexports.Rows
	ExportRunner batchexports.Runner
	// ExportWatch is how often the lease of a run is renewed, and looked whether it
	// was cancelled: 10 seconds when zero, well below a minute.
	ExportWatch time.Duration
	// JobDone is told what became of scheduled changes and of the runs of exports. It
	// may be called by several goroutines. Nil: nobody is told.
	JobDone func(management.JobDone)
}

// Rooms are the desk, which lets callers in, and the rooms. Open opens all of them; one
// that is nil is not served.
type Rooms struct {
	*management.Service
	BatchExports  *batchexports.Service
	Dashboards    *dashboards.Service
	ErrorTracking *errortracking.Service
	FeatureFlags  *featureflags.Service
	Organizations *organizations.Service
}

// Open opens the desk and every room.
func Open(c Config) (*Rooms, error) {
	if c.Store == nil {
		return nil, errors.New("management: Config.Store is required")
	}
	env := envOf(&c, func(tx Tx) management.Tx { return tx })
	orgs, err := organizations.New(organizations.Config{
		Env: envOf(&c, func(tx Tx) organizations.Tx { return tx }), SiteURL: c.SiteURL, Resolver: c.Resolver, ChallengeHost: c.ChallengeHost,
		Mailer: c.Mailer, MailQueued: c.MailQueued, JobDone: c.JobDone, SurveysRun: featureflags.HasRunningSurvey,
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
	flagConfig := featureflags.Config{
		Env: envOf(&c, func(tx Tx) featureflags.Tx { return tx }), People: c.People, JobDone: c.JobDone, SurveysChanged: orgs.SurveysChanged,
		HasDashboard: dashboards.Exists, HasInsight: dashboards.InsightExists, MakeUsage: boards.MakeUsage, EnrichUsage: boards.EnrichUsage, Measure: c.Measure, Lag: c.Lag, RolloutInterval: c.RolloutInterval,
	}
	if c.Mailer != nil {
		flagConfig.Notify = orgs.QueueNotice
	}
	r := &Rooms{
		BatchExports:  batchexports.New(batchexports.Config{Env: env, Rows: c.ExportRows, Runner: c.ExportRunner, Watch: c.ExportWatch, JobDone: c.JobDone}),
		Dashboards:    boards,
		ErrorTracking: errortracking.New(errortracking.Config{Env: env, Events: c.Events}),
		FeatureFlags:  featureflags.New(flagConfig),
		Organizations: orgs,
	}
	r.Service = &management.Service{Env: env, Finders: r.Dashboards.Things()}
	maps.Copy(r.Finders, r.FeatureFlags.Finders())
	return r, nil
}
