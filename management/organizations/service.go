package organizations

import (
	"cmp"
	"context"
	"errors"

	"github.com/bunting-flags/bunting/management"
)

// Service manages organizations (§5.9), their quotas and usage (§5.12) and their roles (§5.1.3).
// Its fields manage the other resources. New returns one; it may be used concurrently.
type Service struct {
	*core
	Account  Account
	Domains  Domains
	Invites  Invites
	Members  Members
	Passkeys Passkeys
	Programs Programs
	Projects Projects
	Sessions Sessions
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
	s.roles, s.keys = s.roleResource(), s.keyResource()
	return &Service{core: s, Account: Account{s}, Domains: newDomains(s), Invites: newInvites(s), Members: Members{s}, Passkeys: Passkeys{s}, Programs: Programs{s}, Projects: newProjects(s), Sessions: Sessions{s}}, nil
}

// HasPasskeys reports whether users can sign in with passkeys.
func (s Service) HasPasskeys() bool { return s.Authenticators != nil }

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
