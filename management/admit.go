package management

import (
	"cmp"
	"context"
	"strings"
)

// Admit completes a caller for whom a service vouches that has a sign-in of its own.
//
// User says who it is, by UUID, ID or Email, the first of them that is there. It is a
// user of this server: nobody else is let in. Key bounds the caller as a personal key
// would, by its Scopes, Projects and Organizations; without one, or where its Scopes are
// nil, the caller may what the user may. Memberships are the user's: a caller that
// brings some is refused, because they would not count.
//
// An error that is an *Error of the kind Unauthenticated refuses the caller, others are
// faults of the store.
func (s *Service) Admit(ctx context.Context, claim *Caller) (*Caller, error) {
	if claim.User == nil || len(claim.Memberships) > 0 {
		return nil, unauthenticated("a caller is named by its User alone, and bounded by its Key: there is no User, or there are Memberships")
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
		return nil, unauthenticated("there is no user " + strings.ToValidUTF8(cmp.Or(claim.User.UUID, claim.User.Email, "of this number")+", or it is not active: invite it first", "?"))
	}
	c.Key, key.User, key.Hash = key, c.User.ID, "user "+c.User.UUID // one of its own for limits
	return c, nil
}

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

func unauthenticated(message string) error {
	return &Error{Kind: Unauthenticated, Code: "authentication_failed", Message: message}
}
