package management

import (
	"cmp"
	"context"
	"strings"
)

// Admit completes a caller that an embedding program has authenticated by its own sign-in.
//
// claim.User names an active user of this server by UUID, ID or Email; the first that is set
// counts. claim.Key limits the caller like a personal key, by its Scopes, Projects and
// Organizations; if Key or its Scopes are nil, the caller has all rights of the user. Memberships
// are read from the store and must be empty in claim.
//
// An *Error of kind Unauthenticated refuses the caller; all other errors are faults of the store.
func (s *Service) Admit(ctx context.Context, claim *Caller) (*Caller, error) {
	if claim.User == nil || len(claim.Memberships) > 0 {
		return nil, unauthenticated("the caller must have a User and no Memberships; a Key restricts its permissions")
	}
	key := &KeyRecord{Scopes: []string{"*"}}
	if k := claim.Key; k != nil {
		key.Label, key.Projects, key.Organizations = k.Label, k.Projects, k.Organizations
		if k.Scopes != nil {
			key.Scopes = k.Scopes
		}
	}
	var c *Caller
	err := s.Env.Store.Read(ctx, func(tx Tx) error {
		u, err := findClaimedUser(tx, claim.User)
		if err == nil && u != nil {
			c, err = CallerFor(tx, u)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if c == nil || c.User.Inactive {
		return nil, unauthenticated("there is no user " + strings.ToValidUTF8(cmp.Or(claim.User.UUID, claim.User.Email, "with this ID")+", or the user is not active: invite the user first", "?"))
	}
	c.Key, key.User, key.Hash = key, c.User.ID, "user "+c.User.UUID // an own Hash, since limits count by it
	return c, nil
}

// findClaimedUser returns the user with the UUID, the ID or the Email of u, or nil.
func findClaimedUser(tx Tx, u *User) (*User, error) {
	switch {
	case u.UUID != "":
		return UserByUUID(tx, u.UUID)
	case u.ID != 0:
		return UserByNumber(tx, u.ID)
	case u.Email != "":
		return UserByEmail(tx, u.Email)
	}
	return nil, nil
}

// unauthenticated returns an error of kind Unauthenticated.
func unauthenticated(message string) error {
	return &Error{Kind: Unauthenticated, Code: "authentication_failed", Message: message}
}
