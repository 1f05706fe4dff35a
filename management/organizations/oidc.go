package organizations

import (
	"errors"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// maxIdentities is the greatest number of accounts of a user, at most one for each issuer.
const maxIdentities = 10

// The codes of errors for accounts that cannot sign in.
const (
	codeUnverified    = "sso_unverified"
	codeNoAccount     = "sso_no_account"
	codeIdentityInUse = "sso_taken"
)

// rejectIdentity returns an error of kind Forbidden with a code of its own.
func rejectIdentity(code, format string, args ...any) error {
	err := management.Denied(format, args...)
	var e *management.Error
	if errors.As(err, &e) {
		e.Code = code
	}
	return err
}

// storedIdentity is the stored form of an account. Email is the address at the time when the
// account was first used.
type storedIdentity struct {
	User    string           `json:"user"`
	Issuer  string           `json:"issuer"`
	Email   string           `json:"email"`
	Created management.Stamp `json:"created_at"`
}

// hash identifies the account without storing its subject.
func (i *Identity) hash() string { return management.HashKey(i.Issuer + "\x00" + i.Subject) }

// userOfIdentity returns the user of a provider's account. On its first use an account is linked to
// the user with its e-mail address, which the provider must have verified. If there is no such user,
// an account is created for addresses of a verified domain with jit_provisioning_enabled.
func (s *core) userOfIdentity(tx Tx, identity *Identity) (*management.User, error) {
	stored, err := management.Found[storedIdentity](tx.Find(kindIdentity, identity.hash()))
	if err != nil {
		return nil, err
	}
	if stored != nil {
		u, err := management.UserByUUID(tx, stored.User)
		if err == nil && u == nil {
			err = rejectIdentity(codeNoAccount, "The user of this account no longer exists.")
		}
		return u, err
	}
	if identity.Email == "" || !identity.Verified {
		return nil, rejectIdentity(codeUnverified, "The provider has not verified the account's email address.")
	}
	// First use: the address decides, since the provider has verified it.
	u, err := management.UserByEmail(tx, identity.Email)
	if err == nil && u == nil {
		u, err = s.provision(tx, identity)
	}
	if err != nil {
		return nil, err
	}
	return u, s.storeIdentity(tx, identity, u)
}

// storeIdentity links an account to a user. It is an error if the user already has another account
// of this issuer: the address must not be sufficient, because the provider may have reassigned it
// to another person.
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
		return rejectIdentity(codeIdentityInUse, "%s is already linked to accounts of %d providers.", u.Email, maxIdentities)
	}
	yes := true
	// The provider's verification of the address counts for this server, too.
	if u.EmailVerified == nil || !*u.EmailVerified {
		u.EmailVerified = &yes
		if err := records.PutUser(tx, u); err != nil {
			return err
		}
	}
	stored := storedIdentity{u.UUID, identity.Issuer, identity.Email, management.NewStamp(s.Env.Now())}
	return tx.Put(&management.Record{Kind: kindIdentity, Parent: u.UUID, ID: identity.hash(), Unique: identity.hash(), Data: storage.Encode(stored)})
}

// provision creates a user for an address of a domain with just-in-time provisioning. The user gets
// the level and access of the newest valid invitation of the organization, or becomes a plain
// member.
func (s *core) provision(tx Tx, identity *Identity) (*management.User, error) {
	r, err := tx.Find(kindDomain, domainOf(identity.Email))
	if err != nil {
		return nil, err
	}
	d, err := management.Decode[domain](r)
	if err != nil {
		return nil, err
	}
	if d == nil || !d.Verified || !d.JITProvisioning {
		return nil, rejectIdentity(codeNoAccount, "There is no user with the address %s: ask for an invitation.", identity.Email)
	}
	org, err := tx.Organization(r.Parent)
	if err != nil {
		return nil, err
	}
	// Without an invitation the user becomes a plain member, by an invitation that is not stored.
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
		// Of several valid invitations the newest has the highest number.
		if creatorLevel >= x.Level && !x.isExpired(s.Env.Now()) && x.Number >= invite.Number {
			invite = x
		}
	}
	u, err := s.newUser(tx, identity.Email, firstName(identity))
	if err != nil {
		return nil, err
	}
	u.Organization = r.Parent
	if err := records.PutUser(tx, u); err != nil {
		return nil, err
	}
	_, err = Invites{core: s}.joinOrganization(tx, invite, org, u, s.SiteURL)
	return u, err
}

// maxFirstName is the greatest length of a provisioned user's first name, in characters.
const maxFirstName = 30

// firstName returns the first word of the account's name, or the local part of its address, cut to
// maxFirstName characters.
func firstName(identity *Identity) string {
	name, _, _ := strings.Cut(strings.TrimSpace(identity.Name), " ")
	if name == "" {
		name, _, _ = strings.Cut(identity.Email, "@")
	}
	// Names are cut at characters, not at bytes.
	runes := []rune(strings.ToValidUTF8(name, ""))
	return string(runes[:min(len(runes), maxFirstName)])
}

// domainOf returns the domain of an e-mail address in lower case.
func domainOf(email string) string {
	return strings.ToLower(email[strings.LastIndexByte(email, '@')+1:])
}
