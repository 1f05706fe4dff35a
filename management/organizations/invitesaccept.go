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

// Accepted is the answer to an acceptance.
type Accepted struct {
	management.UserView
	RedirectURL string `json:"redirect_url"`
	// Key is the personal key of a new account, told this once. Empty for an account
	// that was there before.
	Key string `json:"personal_api_key,omitempty"`
	// Organization is the name of the place that was joined.
	Organization string `json:"-"`
	// Untold is how many members have not been told by mail, because the organization
	// has had its mails of the day.
	Untold int `json:"-"`
}

// The codes of what stands in the way of an acceptance (§4.5).
const (
	CodeExpired       = "expired"
	codeRecipient     = "invalid_recipient"
	codeAlreadyMember = "user_already_member"
	codeEmailTaken    = "existing_email_address"
	CodeAccountExists = "account_exists"
	codeSSO           = "sso_enforced"
)

// acceptScope is the scope of a key that accepts an invitation for its user.
const acceptScope = "organization_member:write"

// maxJoinMails is how many members are told that somebody has joined; those who
// have been there for longest come first.
const maxJoinMails = 100

func errInviteExpired() error {
	return management.Coded(CodeExpired, "", "This invite has expired. Please ask your admin for a new one.")
}

func errNoInvite() error { return management.Fault("", "The provided invite ID is not valid.") }

// Look describes an invitation, and says what stands in the way of c, who may be
// nil for nobody but the one who knows a secret, empty for none.
func (s Invites) Look(ctx context.Context, c *management.Caller, id, secret string) (*Invitation, error) {
	return management.Read(ctx, &s.Desk, func(tx Tx) (*Invitation, error) {
		in, org, err := s.acceptable(tx, c, id, secret)
		if err != nil {
			return nil, err
		}
		return in.describe(org), nil
	})
}

// Describe is Look for the page of a link, which shows what an account of the
// invited address can do too: it looks at the invitation alone.
func (s Invites) Describe(ctx context.Context, id string) (*Invitation, error) {
	return management.Read(ctx, &s.Desk, func(tx Tx) (*Invitation, error) {
		in, org, err := s.pending(tx, id)
		if err != nil {
			return nil, err
		}
		return in.describe(org), nil
	})
}

func (i *storedInvite) describe(org *management.OrganizationRecord) *Invitation {
	return &Invitation{ID: i.ID, Email: i.Email, FirstName: i.FirstName, Organization: org.Name}
}

// Opens reports whether a secret is one of an invitation's.
func (s Invites) Opens(ctx context.Context, id, secret string) (bool, error) {
	return management.Read(ctx, &s.Desk, func(tx Tx) (bool, error) {
		in, err := inviteByID(tx, id)
		return in != nil && in.opened(secret) != nil, err
	})
}

// pending finds an invitation that is neither unknown nor expired nor void.
func (s Invites) pending(tx Tx, id string) (*storedInvite, *management.OrganizationRecord, error) {
	in, err := inviteByID(tx, id)
	if err != nil {
		return nil, nil, err
	}
	if in == nil {
		return nil, nil, errNoInvite()
	}
	org, err := tx.Organization(in.Organization)
	switch {
	case err != nil:
		return nil, nil, err
	case org == nil:
		return nil, nil, errNoInvite()
	case in.expired(s.Desk.Now()):
		return nil, nil, errInviteExpired()
	}
	level, err := inviterLevel(tx, in)
	if err == nil && level < in.Level {
		err = errInviteExpired()
	}
	return in, org, err
}

// acceptable finds an invitation that may be accepted: in the order of §4.5. An account
// that has the address without having proven it does not stand in the way of whoever
// knows a secret that was mailed there.
func (s Invites) acceptable(tx Tx, c *management.Caller, id, secret string) (*storedInvite, *management.OrganizationRecord, error) {
	in, org, err := s.pending(tx, id)
	if err != nil {
		return nil, nil, err
	}
	member, err := invitedMember(tx, in.Organization, in.Email)
	if err != nil {
		return nil, nil, err
	}
	if c != nil {
		if management.EmailKey(c.User.Email) != management.EmailKey(in.Email) {
			return nil, nil, management.Coded(codeRecipient, "", "This invite is intended for another email address.")
		}
		if member {
			return nil, nil, management.Coded(codeAlreadyMember, "", "You already are a member of this organization.")
		}
		return in, org, nil
	}
	if member {
		return nil, nil, errInviteMember(codeEmailTaken)
	}
	account, err := management.UserByEmail(tx, in.Email)
	proof := in.opened(secret)
	if err == nil && account != nil && (account.Verified() || proof == nil || !proof.Mailed) {
		err = management.Coded(CodeAccountExists, "", "%s", s.SiteURL+"/signup/"+in.ID)
	}
	return in, org, err
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
func (s Invites) Accept(ctx context.Context, c *management.Caller, site, id, secret string, b management.Body) (*Accepted, error) {
	if c != nil {
		if err := mayAccept(c); err != nil {
			return nil, err
		}
	}
	out, err := management.Write(ctx, &s.Desk, func(tx Tx) (_ *Accepted, err error) {
		c := c // the work may run twice
		if c != nil {
			if c, err = s.nowOf(tx, c); err != nil {
				return nil, err
			}
		}
		in, org, err := s.acceptable(tx, c, id, secret)
		if err != nil {
			return nil, err
		}
		proof := in.opened(secret)
		switch {
		case c == nil && proof == nil:
			return nil, errNoInvite()
		case proof == nil && !c.User.Verified():
			return nil, management.Coded(management.CodeRequired, "secret", "The secret of the invitation's link is required: the email address of your account is not verified.")
		case c != nil && len(c.Key.Organizations) > 0 && !c.ScopedAll() && !slices.Contains(c.Key.Organizations, org.ID):
			return nil, management.Denied("API key does not have access to the requested organization: ID %s.", org.ID)
		}
		if err := ssoAllows(tx, in.Email); err != nil {
			return nil, err
		}
		out := &Accepted{RedirectURL: s.SiteURL + "/", Organization: org.Name}
		var u *management.User
		if c != nil {
			u = c.User
		} else if u, out.Key, err = s.signUp(tx, in, b, proof.Mailed); err != nil {
			return nil, err
		}
		out.UserView = *u.View()
		out.Untold, err = s.admit(tx, in, org, u, cmp.Or(s.SiteURL, site))
		return out, err
	})
	if err == nil && out.Untold > 0 {
		(&management.JobDone{Job: management.JobMail, ID: id, Failure: fmt.Sprintf("members who are not told that somebody has joined: %d; an organization sends at most %d mails a day", out.Untold, MaxMailsPerDay)}).TellTo(s.JobDone)
	}
	return out, s.queued(err)
}

// mayAccept looks at a key that accepts for its user.
func mayAccept(c *management.Caller) error {
	if err := c.Require(acceptScope); err != nil {
		return err
	}
	return c.WithoutProject()
}

// ssoAllows refuses addresses whose domain has single sign-on enforced (decision
// 19).
func ssoAllows(tx Tx, email string) error {
	d, err := enforcing(tx, email)
	if err != nil || d == nil {
		return err
	}
	return management.Coded(codeSSO, "", "Single sign-on is enforced for %s: invitations to its addresses cannot be accepted here.", d.name)
}

// enforcedDomain is a verified domain with single sign-on enforced.
type enforcedDomain struct{ name, organization string }

// enforcing is the one of an address, nil for none.
func enforcing(tx Tx, email string) (*enforcedDomain, error) {
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
func (s Invites) signUp(tx Tx, in *storedInvite, b management.Body, verified bool) (*management.User, string, error) {
	v, err := AcceptFields.Create(b)
	if err != nil {
		return nil, "", err
	}
	if err := s.displace(tx, in.Email, ""); err != nil {
		return nil, "", err
	}
	u, err := s.newUser(tx, in.Email, v.Text("first_name"))
	if err != nil {
		return nil, "", err
	}
	if role := v.Text("role_at_organization"); role != "" {
		u.Role = &role
	}
	if verified {
		u.EmailVerified = &verified
	}
	u.Organization = in.Organization
	if err := management.PutUser(tx, u); err != nil {
		return nil, "", err
	}
	key := "phx_" + management.RandomText(35)
	return u, key, tx.PutKey(&management.KeyRecord{
		ID: management.RandomText(16), Hash: management.HashKey(key), Mask: management.MaskKey(key), Label: "From the invitation", User: u.ID, Scopes: []string{"*"}, CreatedAt: s.Desk.Now(),
	})
}

// admit makes somebody a member as an invitation says, and takes all invitations
// of the address to that organization away.
func (s Invites) admit(tx Tx, in *storedInvite, org *management.OrganizationRecord, u *management.User, site string) (untold int, err error) {
	now := management.At(s.Desk.Now())
	m := &management.Membership{ID: s.Desk.NewID(), Organization: org.ID, User: u.UUID, Level: in.Level, Joined: now, Updated: now}
	if err := management.PutMembership(tx, m); err != nil {
		return 0, err
	}
	for _, g := range in.Access {
		if err := grantAccess(tx, org.ID, u.UUID, g, now); err != nil {
			return 0, err
		}
	}
	if err := s.replace(tx, in, management.Owner, false); err != nil {
		return 0, err
	}
	if err := s.Desk.Note(tx, &management.Caller{User: u}, org.ID, scopeMember, m.ID, u.Email, nil, viewMember(m, u)); err != nil {
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
func (s Invites) queueJoined(tx Tx, org *management.OrganizationRecord, joined *management.User, site string) (untold int, err error) {
	meta, err := management.MetaOfOrganization(org)
	if err != nil || meta.NoMemberJoinEmail || s.Mailer == nil {
		return 0, err
	}
	members, err := management.ListRecords[management.Membership](tx, management.Query{Kind: management.KindMember, Parent: org.ID, Limit: maxJoinMails + 1})
	if err != nil {
		return 0, err
	}
	now, told := s.Desk.Now(), 0
	for i := range members.Results {
		u, err := management.UserByUUID(tx, members.Results[i].User)
		if err != nil {
			return 0, err
		}
		if u == nil || u.Inactive || u.UUID == joined.UUID || told == maxJoinMails {
			continue
		}
		told++
		var most *management.Error
		if err := s.spendMail(tx, organizationMails(org.ID)); errors.As(err, &most) {
			untold++
			continue
		} else if err != nil {
			return 0, err
		}
		m := &waitingMail{ID: s.Desk.NewID(), Joined: joined.UUID, Organization: org.ID, To: u.Email, Site: site, Created: management.At(now)}
		if err := m.put(tx, now); err != nil {
			return 0, err
		}
	}
	return untold, nil
}
