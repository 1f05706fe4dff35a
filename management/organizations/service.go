package organizations

import (
	"cmp"
	"errors"
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
	c.SessionIdle, c.SessionLife = cmp.Or(c.SessionIdle, DefaultSessionIdle), cmp.Or(c.SessionLife, DefaultSessionLife)
	s := &core{Config: c}
	s.roles, s.keys = s.roleResource(), s.keyResource()
	return &Service{core: s, Account: Account{s}, Domains: newDomains(s), Invites: newInvites(s), Members: Members{s}, Passkeys: Passkeys{s}, Programs: Programs{s}, Projects: newProjects(s), Sessions: Sessions{s}}, nil
}

// HasPasskeys reports whether users can sign in with passkeys.
func (s Service) HasPasskeys() bool { return s.Authenticators != nil }
