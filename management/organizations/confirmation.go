package organizations

import (
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/records"
)

// maxConfirmations is the number of valid secrets of a pending address; older secrets are dropped.
const maxConfirmations = 8

// pendingAddress returns the user's pending address, or nil if it is absent or has expired.
func pendingAddress(u *management.User, now time.Time) *string {
	if u.Pending == nil || now.Sub(u.Pending.Since.Time) > inviteLife {
		return nil
	}
	return &u.Pending.Email
}

// changeEmail makes an address the user's pending one and queues the mail that confirms it. Without
// a Mailer the address changes immediately and is unverified. u is not stored.
func (s *core) changeEmail(tx Tx, u *management.User, email string) error {
	if s.Mailer == nil {
		verified := false
		u.Email, u.EmailVerified, u.Pending = email, &verified, nil
		return nil
	}
	// Another account cannot lose a verified address. An unverified one it loses in Confirm.
	if other, err := management.UserByEmail(tx, email); err != nil {
		return err
	} else if other != nil && other.UUID != u.UUID && other.IsVerified() {
		return errDuplicateEmail()
	}
	if err := s.countMail(tx, userMails(u.UUID)); err != nil {
		return err
	}
	now := s.Env.Now()
	// A new pending address replaces an earlier one together with its secrets.
	u.Pending = &management.PendingEmail{Email: email, Since: management.NewStamp(now)}
	m := &waitingMail{ID: s.Env.NewID(), Confirms: u.UUID, To: email, Site: s.SiteURL, Created: management.NewStamp(now)}
	return m.put(tx, now)
}

// errDuplicateEmail is the error for an address that another account has.
func errDuplicateEmail() error {
	return management.CodedFault(management.CodeUnique, "email", "user with this email address already exists.")
}

// confirmLink returns the link that confirms a pending address.
func confirmLink(site, user, secret string) string {
	return site + "/verify_email/" + user + "?secret=" + secret
}

// composeConfirmation writes the mail that confirms a pending address, with a new secret. It
// returns false if the address is not pending any more or was set anew since, which has queued
// another mail.
func (s *core) composeConfirmation(tx Tx, m *waitingMail, mail *Mail) (bool, error) {
	u, err := management.UserByUUID(tx, m.Confirms)
	if err != nil || u == nil || u.Pending == nil || u.Pending.Email != m.To || !u.Pending.Since.Equal(m.Created.Time) {
		return false, err
	}
	secret := management.RandomText(32)
	u.Pending.Secrets = append(u.Pending.Secrets, management.HashKey(secret))
	u.Pending.Secrets = u.Pending.Secrets[max(0, len(u.Pending.Secrets)-maxConfirmations):]
	if err := records.PutUser(tx, u); err != nil {
		return false, err
	}
	until := m.Created.Add(inviteLife).Format("2 January 2006, 15:04")
	*mail = Mail{ID: m.ID, To: m.To, Subject: "Confirm your email address"}
	mail.write([]string{"Hello " + displayName(u) + ",", "you have set this as your email address. Until you confirm it, your previous address remains in use."},
		singleLink("Confirm the address", confirmLink(s.SiteURL, u.UUID, secret)), "The link works once, until "+until+" UTC. If you do not know what this is about, ignore this mail.")
	return true, nil
}

// Confirm makes a pending address the address of its user. secret is that of the mailed link.
// Another account that has the address without having verified it loses it.
func (s Account) Confirm(ctx context.Context, user, secret string) (*management.UserView, error) {
	return management.Write(ctx, &s.Env, func(tx Tx) (*management.UserView, error) {
		id, _ := management.NormalizeUUID(user)
		u, err := management.UserByUUID(tx, id)
		if err != nil {
			return nil, err
		}
		if u == nil || pendingAddress(u, s.Env.Now()) == nil || !isPendingSecret(u.Pending, secret) {
			return nil, management.CodedFault("invalid_token", "token", "This link is invalid or has expired.")
		}
		if err := s.displace(tx, u.Pending.Email, u.UUID); err != nil {
			return nil, err
		}
		verified := true
		u.Email, u.EmailVerified, u.Pending = u.Pending.Email, &verified, nil
		if err := records.PutUser(tx, u); errors.Is(err, management.ErrDuplicate) {
			return nil, errDuplicateEmail()
		} else if err != nil {
			return nil, err
		}
		return u.View(), nil
	})
}

// isPendingSecret reports whether secret is valid. It compares with all secrets in constant time.
func isPendingSecret(p *management.PendingEmail, secret string) (ok bool) {
	hash := []byte(management.HashKey(secret))
	for _, stored := range p.Secrets {
		ok = subtle.ConstantTimeCompare([]byte(stored), hash) == 1 || ok
	}
	return ok
}

// displacedDomain is the domain of the addresses of accounts that have lost their own. RFC 2606
// reserves it, so no one can own such an address.
const displacedDomain = "@displaced.invalid"

// displace removes an e-mail address from an account that has not verified it, because another
// person has proven to own it. Verified accounts and the account of user keep the address. The
// displaced account keeps all other data.
func (s *core) displace(tx Tx, email, user string) error {
	u, err := management.UserByEmail(tx, email)
	if err != nil || u == nil || u.UUID == user || u.IsVerified() {
		return err
	}
	memberships, err := management.MembershipsOf(tx, u.UUID)
	if err != nil {
		return err
	}
	before, unverified := *u, false
	u.Email, u.EmailVerified = u.UUID+displacedDomain, &unverified
	// Each organization of the account sees the change in its log.
	for i := range memberships {
		m := &memberships[i]
		if err := s.Env.LogActivity(tx, nil, m.Organization, scopeMember, m.ID, u.Email, viewMember(m, &before), viewMember(m, u)); err != nil {
			return err
		}
	}
	return records.PutUser(tx, u)
}
