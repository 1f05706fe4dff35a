package organizations

import (
	"errors"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/notices"
)

// notice is the content of a queued mail to one user about a project.
type notice struct {
	User    string         `json:"user"` // uuid
	Project int64          `json:"project"`
	Subject string         `json:"subject"`
	Lines   []string       `json:"lines"`
	Links   []notices.Link `json:"links"`
}

// QueueNotice queues a mail to each user of n in a transaction of another package; the mails are
// sent if it commits. queued is false if there are no recipients, or if the organization has
// reached its daily limit of notices. Users who have lost access to the project when a mail is sent
// do not get it.
func (s Service) QueueNotice(tx management.Tx, n notices.Notice) (queued bool, err error) {
	p, err := tx.Project(n.Project)
	if err != nil || p == nil {
		return false, err
	}
	for _, id := range n.Users {
		u, err := management.UserByNumber(tx, id)
		if err != nil {
			return queued, err
		}
		allowed, err := canNotify(tx, u, p)
		if err != nil {
			return queued, err
		}
		// Skipped users do not count for the limit.
		if !allowed {
			continue
		}
		var limitErr *management.Error
		switch err := s.countMail(tx, noticeMails(p.Organization)); {
		// The limit is that of the organization, so the remaining users get no mail either.
		case errors.As(err, &limitErr) && limitErr.Code == codeMailLimit:
			return queued, nil
		case err != nil:
			return queued, err
		}
		now := s.Env.Now()
		m := &waitingMail{ID: s.Env.NewID(), Notice: &notice{u.UUID, p.ID, n.Subject, n.Lines, n.Links}, Site: s.SiteURL, Created: management.NewStamp(now)}
		if err := m.put(tx, now); err != nil {
			return queued, err
		}
		queued = true
	}
	return queued, nil
}

// canNotify reports whether a user may get mails about a project: the user must be active and have
// access.
func canNotify(tx management.Tx, u *management.User, p *management.ProjectRecord) (bool, error) {
	if u == nil || u.Inactive {
		return false, nil
	}
	c, err := management.CallerFor(tx, u)
	return err == nil && c.CanReach(p), err
}

// composeNotice writes the mail of a notice. It returns false if the user may not get it any more.
func (s *core) composeNotice(tx Tx, m *waitingMail, mail *Mail) (bool, error) {
	p, err := tx.Project(m.Notice.Project)
	if err != nil || p == nil {
		return false, err
	}
	u, err := management.UserByUUID(tx, m.Notice.User)
	if err != nil {
		return false, err
	}
	// The access may have ended while the mail was waiting.
	if allowed, err := canNotify(tx, u, p); err != nil || !allowed {
		return false, err
	}
	*mail = Mail{ID: m.ID, To: u.Email, Subject: oneLine(m.Notice.Subject)}
	// Notices have paths of the server; mails need full addresses.
	links := make([]notices.Link, len(m.Notice.Links))
	for i, l := range m.Notice.Links {
		links[i] = notices.Link{Label: l.Label, Path: s.SiteURL + l.Path}
	}
	mail.write(append([]string{}, m.Notice.Lines...), links, "You receive this email because you are subscribed in the project "+oneLine(p.Name)+".")
	return true, nil
}
