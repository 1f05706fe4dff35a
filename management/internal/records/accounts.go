package records

import (
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// PutUser saves a user. It returns ErrDuplicate if another user has the e-mail address.
func PutUser(tx management.Tx, u *management.User) error {
	return tx.Put(&management.Record{Kind: storage.KindUser, ID: u.UUID, Sort: storage.SortNumber(u.ID), Unique: management.EmailKey(u.Email), Data: storage.Encode(u)})
}

// PutMembership saves a membership.
func PutMembership(tx management.Tx, m *management.Membership) error {
	return tx.Put(&management.Record{Kind: storage.KindMember, Parent: m.Organization, ID: m.User, Other: m.User, Sort: storage.SortTime(m.Joined.Time), Data: storage.Encode(m)})
}

// NewUserScope returns the scope of a user without a key, for jobs that run in the user's name. It
// is nil if the user does not exist, is inactive or may not access the project.
func NewUserScope(tx management.Tx, user int64, p *management.ProjectRecord) (*management.Scope, error) {
	u, err := management.UserByNumber(tx, user)
	if err != nil || u == nil || u.Inactive {
		return nil, err
	}
	c, err := management.CallerFor(tx, u)
	if err != nil || !c.CanReach(p) {
		return nil, err
	}
	c.Key = &management.KeyRecord{}
	return management.NewScope(tx, c, p)
}
