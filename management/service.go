package management

import (
	"errors"
	"time"
)

// Config says what a Service stands on. Only Store is required.
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
	Resolver Resolver
	// ChallengeHost is where a domain's TXT record stands, DefaultChallengeHost when
	// empty.
	ChallengeHost string
	// Mailer hands mails to a mail server. Nil: no mails are sent.
	Mailer Mailer
	// MailQueued is called when mails may have come into the outbox, for whoever calls
	// Service.DeliverMail. It must not block. May be nil.
	MailQueued func()
	// People reads persons and groups, for cohorts and previews. Nil: there are none.
	People People
	// HasDashboard reports whether a project has a dashboard of a number. Nil: none has.
	HasDashboard func(tx Tx, project, id int64) (bool, error)
	// JobDone is told what became of scheduled changes and of the runs of exports, and
	// of mails that will not be sent. It may be called by several goroutines. Nil:
	// nobody is told.
	JobDone func(JobDone)
}

// core is what all resources share.
type core struct {
	Config
	Desk Desk

	// Where two resources meet.
	surveysRun  func(tx Tx, project int64) (bool, error)
	tellSurveys func(tx Tx, project int64) error
}

// Service has a field for each resource.
type Service struct {
	*core
	Domains          Domains
	Organizations    Organizations
	Members          Members
	Account          Account
	Projects         Projects
	Invites          Invites
	FeatureFlags     FeatureFlags
	ScheduledChanges ScheduledChanges
	Cohorts          Cohorts
	EarlyAccess      EarlyAccess
	Surveys          Surveys
	Experiments      Experiments
}

// New makes a Service.
func New(c Config) (*Service, error) {
	if c.Store == nil {
		return nil, errors.New("management: Config.Store is required")
	}
	if c.Mailer != nil && c.SiteURL == "" {
		return nil, errors.New("management: Config.SiteURL is required with a Mailer")
	}
	if c.ChallengeHost == "" {
		c.ChallengeHost = DefaultChallengeHost
	}
	s := &core{Config: c, Desk: Desk{Store: c.Store, Clock: c.Now, IDs: c.NewID}, surveysRun: SurveysRun}
	s.tellSurveys = s.SurveysChanged
	return &Service{
		core: s, Domains: Domains{s},
		Organizations:    Organizations{s},
		Members:          Members{s},
		Account:          Account{s},
		Projects:         Projects{s},
		Invites:          Invites{s},
		FeatureFlags:     FeatureFlags{s},
		ScheduledChanges: ScheduledChanges{s},
		Cohorts:          Cohorts{s},
		EarlyAccess:      EarlyAccess{s},
		Surveys:          Surveys{s},
		Experiments:      Experiments{s},
	}, nil
}
