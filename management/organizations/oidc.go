package organizations

import (
	"context"
	"errors"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// kindIdentity is an account of a provider of OpenID Connect: Parent is its user's uuid,
// ID and Unique the hash of issuer and subject.
const kindIdentity = "oidc_identity"

// maxIdentities is how many accounts a user may have, of several issuers.
const maxIdentities = 10

// What a provider's account may lack.
const (
	codeUnverified    = "sso_unverified"
	codeNoAccount     = "sso_no_account"
	codeIdentityInUse = "sso_taken"
)

func rejectIdentity(code, format string, args ...any) error {
	err := management.Denied(format, args...)
	var e *management.Error
	if errors.As(err, &e) {
		e.Code = code
	}
	return err
}

type storedIdentity struct {
	User    string           `json:"user"`
	Issuer  string           `json:"issuer"`
	Email   string           `json:"email"` // when it was kept
	Created management.Stamp `json:"created_at"`
}

func (i *Identity) hash() string { return management.HashKey(i.Issuer + "\x00" + i.Subject) }

// BeginWithIdentity signs in whom a provider has signed in: the user who has come with that account
// before, or else, once, the one of its address, which the provider must know to be
// theirs. Who has no account here gets one where the address is of a verified domain
// with jit_provisioning_enabled.
func (s Sessions) BeginWithIdentity(ctx context.Context, identity Identity, v ClientInfo) (token string, err error) {
	token, _, err = s.begin(ctx, v, func(tx Tx) (*proof, error) {
		u, err := s.userOfIdentity(tx, &identity)
		if err != nil {
			return nil, err
		}
		return &proof{user: u, method: "oidc"}, checkActive(tx, u)
	})
	return token, s.notifyQueued(err)
}

// userOfIdentity is the user of an account.
func (s *core) userOfIdentity(tx Tx, identity *Identity) (*management.User, error) {
	r, err := tx.Find(kindIdentity, identity.hash())
	if err != nil {
		return nil, err
	}
	stored, err := management.Decode[storedIdentity](r)
	if err != nil {
		return nil, err
	}
	if stored != nil {
		u, err := management.UserByUUID(tx, stored.User)
		if err == nil && u == nil {
			err = rejectIdentity(codeNoAccount, "The account is of somebody who is not here any more.")
		}
		return u, err
	}
	if identity.Email == "" || !identity.Verified {
		return nil, rejectIdentity(codeUnverified, "The provider does not say that it knows the account's email address to be theirs.")
	}
	u, err := management.UserByEmail(tx, identity.Email)
	if err == nil && u == nil {
		u, err = s.provision(tx, identity)
	}
	if err != nil {
		return nil, err
	}
	return u, s.storeIdentity(tx, identity, u)
}

// storeIdentity binds an account to a user, who has no other one of this issuer: an address
// that somebody else got since is not enough to be them.
func (s *core) storeIdentity(tx Tx, identity *Identity, u *management.User) error {
	list, err := management.ListRecords[storedIdentity](tx, management.Query{Kind: kindIdentity, Parent: u.UUID})
	if err != nil {
		return err
	}
	for i := range list.Results {
		if list.Results[i].Issuer == identity.Issuer {
			return rejectIdentity(codeIdentityInUse, "%s signs in with another account of this provider.", u.Email)
		}
	}
	if list.Count >= maxIdentities {
		return rejectIdentity(codeIdentityInUse, "%s has accounts of %d providers already.", u.Email, maxIdentities)
	}
	yes := true
	if u.EmailVerified == nil || !*u.EmailVerified {
		u.EmailVerified = &yes
		if err := management.PutUser(tx, u); err != nil {
			return err
		}
	}
	stored := storedIdentity{u.UUID, identity.Issuer, identity.Email, management.NewStamp(s.Env.Now())}
	return tx.Put(&management.Record{Kind: kindIdentity, Parent: u.UUID, ID: identity.hash(), Unique: identity.hash(), Data: management.Encode(stored)})
}

// provision makes an account for an address of a domain that is open to all of it: as the
// newest invitation of its organization says that is still good, else as a member.
func (s *core) provision(tx Tx, identity *Identity) (*management.User, error) {
	r, err := tx.Find(kindDomain, domainOf(identity.Email))
	if err != nil {
		return nil, err
	}
	d, err := management.Decode[Domain](r)
	if err != nil {
		return nil, err
	}
	if d == nil || !d.Verified || !d.JITProvisioning {
		return nil, rejectIdentity(codeNoAccount, "Nobody here has the address %s: ask for an invitation.", identity.Email)
	}
	org, err := tx.Organization(r.Parent)
	if err != nil {
		return nil, err
	}
	invite := &storedInvite{Organization: r.Parent}
	invite.Email, invite.Level = identity.Email, management.Member
	list, err := management.ListRecords[storedInvite](tx, management.Query{Kind: kindInvite, Other: invitesOf(r.Parent, identity.Email)})
	if err != nil {
		return nil, err
	}
	for i := range list.Results {
		x := &list.Results[i]
		creatorLevel, err := inviterLevel(tx, x)
		if err != nil {
			return nil, err
		}
		if creatorLevel >= x.Level && !x.isExpired(s.Env.Now()) && x.Number >= invite.Number {
			invite = x
		}
	}
	u, err := s.newUser(tx, identity.Email, firstName(identity))
	if err != nil {
		return nil, err
	}
	u.Organization = r.Parent
	if err := management.PutUser(tx, u); err != nil {
		return nil, err
	}
	_, err = Invites{core: s}.admit(tx, invite, org, u, s.SiteURL)
	return u, err
}

// maxFirstName is that of AcceptFields, in characters.
const maxFirstName = 30

func firstName(identity *Identity) string {
	name, _, _ := strings.Cut(strings.TrimSpace(identity.Name), " ")
	if runes := []rune(strings.ToValidUTF8(name, "")); len(runes) > maxFirstName {
		name = string(runes[:maxFirstName])
	}
	if name == "" {
		name, _, _ = strings.Cut(identity.Email, "@")
	}
	return name
}

func domainOf(email string) string {
	return strings.ToLower(email[strings.LastIndexByte(email, '@')+1:])
}
