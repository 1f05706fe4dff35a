package organizations

import (
	"cmp"
	"errors"
)

// Service has the organizations (§5.9), their quotas and usage (§5.12) and roles
// (§5.1.3), and a field for each of the other resources. New makes one.
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

// New makes a Service.
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

// HasPasskeys reports whether anybody can sign in with one.
func (s Service) HasPasskeys() bool { return s.Authenticators != nil }
