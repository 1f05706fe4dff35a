package organizations

import (
	"cmp"
	"context"
	"errors"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

// Service manages organizations (§5.9), their quotas and usage (§5.12). Its fields manage the other
// resources. New returns one; it may be used concurrently.
type Service struct {
	*core
	resource.Resource[Tx, management.OrganizationRecord, organization]
	Account  Account
	Domains  Domains
	Invites  Invites
	Keys     PersonalKeys
	Members  Members
	Passkeys Passkeys
	Programs Programs
	Projects Projects
	Roles    Roles
	Sessions Sessions
	// Mails and Webhooks are the queues of mails and webhooks.
	Mails, Webhooks outbox
	// EventNames and PropertyNames are the vocabularies of a project.
	EventNames, PropertyNames Vocabulary
}

// New returns a Service with the defaults of c applied. It returns an error if there is a Mailer
// without a SiteURL.
func New(c Config) (*Service, error) {
	if c.Mailer != nil && c.SiteURL == "" {
		return nil, errors.New("organizations: Config.SiteURL is required with a Mailer")
	}
	c.ChallengeHost = cmp.Or(c.ChallengeHost, DefaultChallengeHost)
	c.SessionIdle, c.SessionLife = cmp.Or(c.SessionIdle, defaultSessionIdle), cmp.Or(c.SessionLife, defaultSessionLife)
	s := &core{Config: c}
	s.keys = s.keyResource()
	projects := newProjects(s)
	return &Service{
		core: s, Resource: newOrganizations(s, projects), Account: newAccount(s), Domains: newDomains(s), Invites: newInvites(s), Keys: PersonalKeys{s.keys, &s.Env},
		Members: newMembers(s), Passkeys: newPasskeys(s), Programs: Programs{s}, Projects: projects, Roles: newRoles(s), Sessions: newSessions(s), Mails: outbox{s, kindMail}, Webhooks: outbox{s, kindWebhook},
		EventNames: newEventNames(s), PropertyNames: newPropertyNames(s),
	}, nil
}

// CheckBackupAccess returns an error unless the caller may read everything that the server stores.
// The caller must own every organization, and the key must have the scope * without a limit to
// projects or organizations.
func (s Service) CheckBackupAccess(ctx context.Context, c *management.Caller) error {
	if err := c.Require(management.InternalScope); err != nil {
		return err
	}
	if len(c.Key.Projects)+len(c.Key.Organizations) > 0 {
		return management.Denied("A backup contains all data: the API key must not be limited to projects or organizations.")
	}
	return s.Env.Store.Read(ctx, func(tx Tx) error {
		// A backup has the data of all organizations, so owning some of them is not enough.
		all, err := tx.Organizations()
		if err != nil {
			return err
		}
		for i := range all {
			if c.Level(all[i].ID) < management.Owner {
				return management.Denied("A backup contains all organizations: only a user who owns all of them may download it. On the server itself, use bunting backup.")
			}
		}
		return nil
	})
}

// RefreshBrowserSettings recomputes the browser settings of all projects if they were computed by
// an older version of the rules. It must be called at the start of a server; if the version is
// current, it does not write.
func (s Service) RefreshBrowserSettings(ctx context.Context) error {
	version, err := management.Read(ctx, &s.Env, func(tx Tx) (int64, error) { return records.FollowerPosition(tx, browserFollower) })
	if err != nil || version >= browserRules {
		return err
	}
	return s.Env.Store.Write(ctx, func(tx Tx) error {
		all, err := tx.Projects("")
		if err != nil {
			return err
		}
		for i := range all {
			changed, err := s.updateBrowserSettings(tx, &all[i])
			if err == nil && changed {
				err = tx.PutProject(&all[i])
			}
			if err != nil {
				return err
			}
		}
		return records.PutFollowerPosition(tx, browserFollower, browserRules)
	})
}
