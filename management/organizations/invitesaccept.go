package organizations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Invitation is the public part of an invitation, for everyone with its link.
type Invitation struct {
	ID           string `json:"id"`
	Email        string `json:"target_email"`
	FirstName    string `json:"first_name"`
	Organization string `json:"organization_name"`
}

// Acceptance is the response to an accepted invitation.
type Acceptance struct {
	management.UserView
	RedirectURL string `json:"redirect_url"`
	// Key is the personal key of a new account; no other response has it. It is empty for an
	// account that existed before.
	Key string `json:"personal_api_key,omitempty"`
	// Organization is the name of the joined organization.
	Organization string `json:"-"`
	// NotNotified is the number of members who get no mail about the new member, because the
	// organization has used up its mails of the day.
	NotNotified int `json:"-"`
}

// The codes of the errors that prevent an acceptance (§4.5).
const (
	codeExpired       = "expired"
	codeRecipient     = "invalid_recipient"
	codeAlreadyMember = "user_already_member"
	codeEmailExists   = "existing_email_address"
	codeAccountExists = "account_exists"
	codeSSO           = "sso_enforced"
)

// acceptScope is the scope that a key needs to accept an invitation for its user.
const acceptScope = "organization_member:write"

// maxJoinMails is the greatest number of members who get a mail about a new member: those with the
// oldest memberships.
const maxJoinMails = 100

// errInviteExpired is the error for expired and for void invitations.
func errInviteExpired() error {
	return management.CodedFault(codeExpired, "", "This invite has expired. Please ask your admin for a new one.")
}

// errNoInvite is the error for unknown invitations, and for wrong secrets.
func errNoInvite() error { return management.Fault("", "The provided invite ID is not valid.") }

// Inspect returns the public part of an invitation, or the error that Accept would return at
// present. c is nil for a caller without a key, and secret is empty if the request has none.
func (s Invites) Inspect(ctx context.Context, c *management.Caller, id, secret string) (*Invitation, error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (*Invitation, error) {
		invite, org, err := s.findAcceptable(tx, c, id, secret)
		if err != nil {
			return nil, err
		}
		return invite.describe(org), nil
	})
}

// invitationForm is what the page of an invitation's link offers.
type invitationForm struct {
	*Invitation
	// Account reports whether an account with the address exists, so that only a key of it accepts
	// the invitation. Displace reports whether the secret allows replacing that account, because it
	// has never verified its address.
	Account, Displace bool
	// Roles are the values of role_at_organization.
	Roles []string
}

// Form returns what the page of an invitation's link offers, or an error if the invitation cannot be
// accepted. Unless there is an account, the secret of the link is required.
func (s Invites) Form(ctx context.Context, id, secret string) (*invitationForm, error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (*invitationForm, error) {
		invite, org, err := s.findPending(tx, id)
		if err != nil {
			return nil, err
		}
		out := &invitationForm{Invitation: invite.describe(org), Roles: rolesAtOrganization}
		_, _, err = s.findAcceptable(tx, nil, id, "")
		var fault *management.Error
		switch {
		case errors.As(err, &fault) && fault.Code == codeAccountExists:
			_, _, err = s.findAcceptable(tx, nil, id, secret)
			out.Account, out.Displace = true, err == nil
			if err != nil && !errors.As(err, &fault) {
				return nil, err
			}
		case err != nil:
			return nil, err
		case invite.findSecret(secret) == nil:
			return nil, management.Fault("", "This link is incomplete: use the complete link from the email.")
		}
		return out, nil
	})
}

// describe returns the public part of the invitation.
func (i *storedInvite) describe(org *management.OrganizationRecord) *Invitation {
	return &Invitation{ID: i.ID, Email: i.Email, FirstName: i.FirstName, Organization: org.Name}
}

// findPending returns an invitation with its organization. It is an error if the invitation does
// not exist, has expired or is void.
func (s Invites) findPending(tx Tx, id string) (*storedInvite, *management.OrganizationRecord, error) {
	invite, err := inviteByID(tx, id)
	if err != nil {
		return nil, nil, err
	}
	if invite == nil {
		return nil, nil, errNoInvite()
	}
	org, err := tx.Organization(invite.Organization)
	switch {
	case err != nil:
		return nil, nil, err
	case org == nil:
		return nil, nil, errNoInvite()
	case invite.isExpired(s.Env.Now()):
		return nil, nil, errInviteExpired()
	}
	// An inviter who has lost the level cannot grant it by an older invitation.
	level, err := inviterLevel(tx, invite)
	if err == nil && level < invite.Level {
		err = errInviteExpired()
	}
	return invite, org, err
}

// findAcceptable returns an invitation that the caller may accept, after the checks of §4.5 in
// their order. Without a caller, an existing account of the address is an error, unless the account
// has not verified the address and the secret was mailed to it.
func (s Invites) findAcceptable(tx Tx, c *management.Caller, id, secret string) (*storedInvite, *management.OrganizationRecord, error) {
	invite, org, err := s.findPending(tx, id)
	if err != nil {
		return nil, nil, err
	}
	member, err := isMember(tx, invite.Organization, invite.Email)
	if err != nil {
		return nil, nil, err
	}
	if c != nil {
		if management.EmailKey(c.User.Email) != management.EmailKey(invite.Email) {
			return nil, nil, management.CodedFault(codeRecipient, "", "This invite is intended for another email address.")
		}
		if member {
			return nil, nil, management.CodedFault(codeAlreadyMember, "", "You already are a member of this organization.")
		}
		return invite, org, nil
	}
	if member {
		return nil, nil, errInviteMember(codeEmailExists)
	}
	// Without a caller Accept creates a new account. An existing account of the address prevents
	// that, unless it has not proven to own the address and the mailed secret has.
	account, err := management.UserByEmail(tx, invite.Email)
	proof := invite.findSecret(secret)
	if err == nil && account != nil && (account.IsVerified() || proof == nil || !proof.Mailed) {
		err = management.CodedFault(codeAccountExists, "", "%s", s.SiteURL+"/signup/"+invite.ID)
	}
	return invite, org, err
}

// Accept makes the invited person a member. site is as for Create.
//
// Without a caller the secret of the link is required. It creates an account for the invited
// address with a key of all scopes; an unverified account with that address loses it if the secret
// was mailed. A person with an account is admitted only with a key of that account and never by the
// link, because the inviter may also know the link and must not get a key of another person's
// account. In addition to the key the secret is required, unless the account's address is verified.
func (s Invites) Accept(ctx context.Context, c *management.Caller, site, id, secret string, b management.Body) (*Acceptance, error) {
	if c != nil {
		if err := checkAccept(c); err != nil {
			return nil, err
		}
	}
	out, err := management.Write(ctx, &s.Env, func(tx Tx) (_ *Acceptance, err error) {
		c := c // work may run several times
		if c != nil {
			if c, err = s.reloadCaller(tx, c); err != nil {
				return nil, err
			}
		}
		invite, org, err := s.findAcceptable(tx, c, id, secret)
		if err != nil {
			return nil, err
		}
		proof := invite.findSecret(secret)
		switch {
		// The error is that of an unknown invitation, in order not to disclose that it exists.
		case c == nil && proof == nil:
			return nil, errNoInvite()
		// An unverified account may have been created by anybody with that address.
		case proof == nil && !c.User.IsVerified():
			return nil, management.CodedFault(management.CodeRequired, "secret", "The secret of the invitation's link is required: the email address of your account is not verified.")
		case c != nil && len(c.Key.Organizations) > 0 && !c.HasAllScopes() && !slices.Contains(c.Key.Organizations, org.ID):
			return nil, management.Denied("API key does not have access to the requested organization: ID %s.", org.ID)
		}
		if err := checkSSO(tx, invite.Email); err != nil {
			return nil, err
		}
		out := &Acceptance{RedirectURL: s.SiteURL + "/", Organization: org.Name}
		var u *management.User
		if c != nil {
			u = c.User
		} else if u, out.Key, err = s.signUp(tx, invite, b, proof.Mailed); err != nil {
			return nil, err
		}
		out.UserView = *u.View()
		out.NotNotified, err = s.joinOrganization(tx, invite, org, u, cmp.Or(s.SiteURL, site))
		return out, err
	})
	// Reported after the commit: the acceptance itself has succeeded.
	if err == nil && out.NotNotified > 0 {
		(&management.JobDone{Job: management.JobMail, ID: id, Failure: fmt.Sprintf("members who are not notified that a member has joined: %d; an organization sends at most %d emails per day", out.NotNotified, maxMailsPerDay)}).ReportTo(s.JobDone)
	}
	return out, s.notifyQueued(err)
}

// checkAccept checks the key of a caller who accepts an invitation.
func checkAccept(c *management.Caller) error {
	if err := c.Require(acceptScope); err != nil {
		return err
	}
	return c.DenyProjectKeys()
}

// checkSSO returns an error for addresses of a domain with enforced single sign-on (decision 19).
func checkSSO(tx Tx, email string) error {
	d, err := enforcedDomainOf(tx, email)
	if err != nil || d == nil {
		return err
	}
	return management.CodedFault(codeSSO, "", "Single sign-on is enforced for %s: invitations to its addresses cannot be accepted here.", d.name)
}

// enforcedDomain is a verified domain with enforced single sign-on.
type enforcedDomain struct{ name, organization string }

// enforcedDomainOf returns the enforced domain of an address, or nil.
func enforcedDomainOf(tx Tx, email string) (*enforcedDomain, error) {
	name := domainOf(email)
	r, err := tx.Find(kindDomain, name)
	if err != nil {
		return nil, err
	}
	d, err := management.Decode[domain](r)
	if err != nil || d == nil || !d.Verified || d.SSOEnforcement == "" {
		return nil, err
	}
	return &enforcedDomain{name, r.Parent}, nil
}

// signUp creates an account for the invited address, and its first key. verified reports whether
// the secret proves access to the address.
func (s Invites) signUp(tx Tx, invite *storedInvite, b management.Body, verified bool) (*management.User, string, error) {
	v, err := acceptFields.Create(b)
	if err != nil {
		return nil, "", err
	}
	// findAcceptable has checked that the account which has the address may lose it.
	if err := s.displace(tx, invite.Email, ""); err != nil {
		return nil, "", err
	}
	u, err := s.newUser(tx, invite.Email, v.Text("first_name"))
	if err != nil {
		return nil, "", err
	}
	if role := v.Text("role_at_organization"); role != "" {
		u.Role = &role
	}
	if verified {
		u.EmailVerified = &verified
	}
	u.Organization = invite.Organization
	if err := records.PutUser(tx, u); err != nil {
		return nil, "", err
	}
	key := "phx_" + management.RandomText(35)
	return u, key, tx.PutKey(&management.KeyRecord{
		ID: management.RandomText(16), Hash: management.HashKey(key), Mask: management.MaskKey(key), Label: "From the invitation", User: u.ID, Scopes: []string{"*"}, CreatedAt: s.Env.Now(),
	})
}

// joinOrganization makes a user a member with the level and access of an invitation, and deletes all
// invitations of the address to that organization. invite needs no record of its own.
func (s Invites) joinOrganization(tx Tx, invite *storedInvite, org *management.OrganizationRecord, u *management.User, site string) (notNotified int, err error) {
	now := management.NewStamp(s.Env.Now())
	m := &management.Membership{ID: s.Env.NewID(), Organization: org.ID, User: u.UUID, Level: invite.Level, Joined: now, Updated: now}
	if err := records.PutMembership(tx, m); err != nil {
		return 0, err
	}
	if err := s.assignDefaultRole(tx, org, u.UUID, now); err != nil {
		return 0, err
	}
	for _, g := range invite.Access {
		if err := grantAccess(tx, org.ID, u.UUID, g, now); err != nil {
			return 0, err
		}
	}
	// With the level of an owner, replace deletes all invitations of the address.
	if err := s.replace(tx, invite, management.Owner, false); err != nil {
		return 0, err
	}
	if err := s.Env.LogActivity(tx, &management.Caller{User: u}, org.ID, scopeMember, m.ID, u.Email, nil, viewMember(m, u)); err != nil {
		return 0, err
	}
	return s.queueJoined(tx, org, u, site)
}

// grantAccess gives a user access to a project. It does nothing if the project was deleted or moved
// since the invitation.
func grantAccess(tx Tx, organization, user string, g projectGrant, now management.Stamp) error {
	p, err := tx.Project(g.ID)
	if err != nil || p == nil || p.Organization != organization {
		return err
	}
	meta, err := management.MetaOfProject(p)
	if err != nil {
		return err
	}
	if meta.Members == nil {
		meta.Members = map[string]management.AccessLevel{}
	}
	// An explicit rule of the user replaces the project's default.
	meta.Members[user], meta.Updated = g.Level, now
	p.Meta = storage.Encode(meta)
	return tx.PutProject(p)
}

// queueJoined queues mails about a new member to the other members, if the organization has that
// setting (§4.5). It returns how many of them get no mail because the organization has used up its
// mails of the day, which must not prevent a user from joining.
func (s Invites) queueJoined(tx Tx, org *management.OrganizationRecord, joined *management.User, site string) (notNotified int, err error) {
	meta, err := management.MetaOfOrganization(org)
	if err != nil || meta.NoMemberJoinEmail || s.Mailer == nil {
		return 0, err
	}
	// One more than the limit, since the new member is among them.
	members, err := management.ListRecords[management.Membership](tx, management.Query{Kind: storage.KindMember, Parent: org.ID, Limit: maxJoinMails + 1})
	if err != nil {
		return 0, err
	}
	now, notified := s.Env.Now(), 0
	for i := range members.Results {
		u, err := management.UserByUUID(tx, members.Results[i].User)
		if err != nil {
			return 0, err
		}
		if u == nil || u.Inactive || u.UUID == joined.UUID || notified == maxJoinMails {
			continue
		}
		notified++
		var limitErr *management.Error
		if err := s.countMail(tx, organizationMails(org.ID)); errors.As(err, &limitErr) {
			notNotified++
			continue
		} else if err != nil {
			return 0, err
		}
		m := &waitingMail{ID: s.Env.NewID(), Joined: joined.UUID, Organization: org.ID, To: u.Email, Site: site, Created: management.NewStamp(now)}
		if err := m.put(tx, now); err != nil {
			return 0, err
		}
	}
	return notNotified, nil
}
