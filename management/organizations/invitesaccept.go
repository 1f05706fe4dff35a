package organizations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// Invitation is what is told of an invitation to whoever has its link.
type Invitation struct {
	ID           string `json:"id"`
	Email        string `json:"target_email"`
	FirstName    string `json:"first_name"`
	Organization string `json:"organization_name"`
}

// Acceptance is the answer to an acceptance.
type Acceptance struct {
	management.UserView
	RedirectURL string `json:"redirect_url"`
	// Key is the personal key of a new account, told this once. Empty for an account
	// that was there before.
	Key string `json:"personal_api_key,omitempty"`
	// Organization is the name of the place that was joined.
	Organization string `json:"-"`
	// NotNotified is how many members have not been told by mail, because the organization
	// has had its mails of the day.
	NotNotified int `json:"-"`
}

// The codes of what stands in the way of an acceptance (§4.5).
const (
	CodeExpired       = "expired"
	codeRecipient     = "invalid_recipient"
	codeAlreadyMember = "user_already_member"
	codeEmailExists   = "existing_email_address"
	CodeAccountExists = "account_exists"
	codeSSO           = "sso_enforced"
)

// acceptScope is the scope of a key that accepts an invitation for its user.
const acceptScope = "organization_member:write"

// maxJoinMails is how many members are told that somebody has joined; those who
// have been there for longest come first.
const maxJoinMails = 100

func errInviteExpired() error {
	return management.CodedFault(CodeExpired, "", "This invite has expired. Please ask your admin for a new one.")
}

func errNoInvite() error { return management.Fault("", "The provided invite ID is not valid.") }

// Inspect describes an invitation, and says what stands in the way of c, who may be
// nil for nobody but the one who knows a secret, empty for none.
func (s Invites) Inspect(ctx context.Context, c *management.Caller, id, secret string) (*Invitation, error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (*Invitation, error) {
		invite, org, err := s.findAcceptable(tx, c, id, secret)
		if err != nil {
			return nil, err
		}
		return invite.describe(org), nil
	})
}

// Describe is Look for the page of a link, which shows what an account of the
// invited address can do too: it looks at the invitation alone.
func (s Invites) Describe(ctx context.Context, id string) (*Invitation, error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (*Invitation, error) {
		invite, org, err := s.findPending(tx, id)
		if err != nil {
			return nil, err
		}
		return invite.describe(org), nil
	})
}

func (i *storedInvite) describe(org *management.OrganizationRecord) *Invitation {
	return &Invitation{ID: i.ID, Email: i.Email, FirstName: i.FirstName, Organization: org.Name}
}

// HasSecret reports whether a secret is one of an invitation's.
func (s Invites) HasSecret(ctx context.Context, id, secret string) (bool, error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (bool, error) {
		invite, err := inviteByID(tx, id)
		return invite != nil && invite.findSecret(secret) != nil, err
	})
}

// findPending finds an invitation that is neither unknown nor expired nor void.
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
	level, err := inviterLevel(tx, invite)
	if err == nil && level < invite.Level {
		err = errInviteExpired()
	}
	return invite, org, err
}

// findAcceptable finds an invitation that may be accepted: in the order of §4.5. An account
// that has the address without having proven it does not stand in the way of whoever
// knows a secret that was mailed there.
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
	account, err := management.UserByEmail(tx, invite.Email)
	proof := invite.findSecret(secret)
	if err == nil && account != nil && (account.IsVerified() || proof == nil || !proof.Mailed) {
		err = management.CodedFault(CodeAccountExists, "", "%s", s.SiteURL+"/signup/"+invite.ID)
	}
	return invite, org, err
}

// Accept makes the invited person a member. site is as for Create.
//
// Without a caller the secret of the link has to be right: it makes an account
// for the invited address, with a key of all scopes; an account that has the address
// without having proven it loses it, where the secret was mailed. Who has an account
// already is let in by a key of that account alone, never by the link: whoever has made
// the invitation may know the link too, and must not get a key of another's
// account. Beside the key the secret is needed unless the account's address is
// known to be the caller's.
func (s Invites) Accept(ctx context.Context, c *management.Caller, site, id, secret string, b management.Body) (*Acceptance, error) {
	if c != nil {
		if err := checkAccept(c); err != nil {
			return nil, err
		}
	}
	out, err := management.Write(ctx, &s.Env, func(tx Tx) (_ *Acceptance, err error) {
		c := c // the work may run twice
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
		case c == nil && proof == nil:
			return nil, errNoInvite()
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
		out.NotNotified, err = s.admit(tx, invite, org, u, cmp.Or(s.SiteURL, site))
		return out, err
	})
	if err == nil && out.NotNotified > 0 {
		(&management.JobDone{Job: management.JobMail, ID: id, Failure: fmt.Sprintf("members who are not told that somebody has joined: %d; an organization sends at most %d mails a day", out.NotNotified, MaxMailsPerDay)}).ReportTo(s.JobDone)
	}
	return out, s.notifyQueued(err)
}

// checkAccept looks at a key that accepts for its user.
func checkAccept(c *management.Caller) error {
	if err := c.Require(acceptScope); err != nil {
		return err
	}
	return c.DenyProjectKeys()
}

// checkSSO refuses addresses whose domain has single sign-on enforced (decision
// 19).
func checkSSO(tx Tx, email string) error {
	d, err := enforcedDomainOf(tx, email)
	if err != nil || d == nil {
		return err
	}
	return management.CodedFault(codeSSO, "", "Single sign-on is enforced for %s: invitations to its addresses cannot be accepted here.", d.name)
}

// enforcedDomain is a verified domain with single sign-on enforced.
type enforcedDomain struct{ name, organization string }

// enforcedDomainOf is the one of an address, nil for none.
func enforcedDomainOf(tx Tx, email string) (*enforcedDomain, error) {
	name := domainOf(email)
	r, err := tx.Find(kindDomain, name)
	if err != nil {
		return nil, err
	}
	d, err := management.Decode[Domain](r)
	if err != nil || d == nil || !d.Verified || d.SSOEnforcement == "" {
		return nil, err
	}
	return &enforcedDomain{name, r.Parent}, nil
}

// signUp makes an account for the invited address and its first key. verified: the
// secret can be known from a mail to that address only.
func (s Invites) signUp(tx Tx, invite *storedInvite, b management.Body, verified bool) (*management.User, string, error) {
	v, err := AcceptFields.Create(b)
	if err != nil {
		return nil, "", err
	}
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
	if err := management.PutUser(tx, u); err != nil {
		return nil, "", err
	}
	key := "phx_" + management.RandomText(35)
	return u, key, tx.PutKey(&management.KeyRecord{
		ID: management.RandomText(16), Hash: management.HashKey(key), Mask: management.MaskKey(key), Label: "From the invitation", User: u.ID, Scopes: []string{"*"}, CreatedAt: s.Env.Now(),
	})
}

// admit makes somebody a member as an invitation says, and takes all invitations
// of the address to that organization away.
func (s Invites) admit(tx Tx, invite *storedInvite, org *management.OrganizationRecord, u *management.User, site string) (notNotified int, err error) {
	now := management.NewStamp(s.Env.Now())
	m := &management.Membership{ID: s.Env.NewID(), Organization: org.ID, User: u.UUID, Level: invite.Level, Joined: now, Updated: now}
	if err := management.PutMembership(tx, m); err != nil {
		return 0, err
	}
	for _, g := range invite.Access {
		if err := grantAccess(tx, org.ID, u.UUID, g, now); err != nil {
			return 0, err
		}
	}
	if err := s.replace(tx, invite, management.Owner, false); err != nil {
		return 0, err
	}
	if err := s.Env.LogActivity(tx, &management.Caller{User: u}, org.ID, scopeMember, m.ID, u.Email, nil, viewMember(m, u)); err != nil {
		return 0, err
	}
	return s.queueJoined(tx, org, u, site)
}

// grantAccess gives a user access to a project that is still there.
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
	meta.Members[user], meta.Updated = g.Level, now
	p.Meta = management.Encode(meta)
	return tx.PutProject(p)
}

// queueJoined tells the other members that somebody has joined, where the
// organization wants it (§4.5). untold are those for whom there is no mail left today,
// which is no reason not to let somebody in.
func (s Invites) queueJoined(tx Tx, org *management.OrganizationRecord, joined *management.User, site string) (notNotified int, err error) {
	meta, err := management.MetaOfOrganization(org)
	if err != nil || meta.NoMemberJoinEmail || s.Mailer == nil {
		return 0, err
	}
	members, err := management.ListRecords[management.Membership](tx, management.Query{Kind: management.KindMember, Parent: org.ID, Limit: maxJoinMails + 1})
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
