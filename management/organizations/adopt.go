package organizations

import (
	"context"
	"errors"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// Adoption says who becomes the owner of organizations without members.
type Adoption struct {
	Email string
	// Key is asked for the owner's first key, where there is to be one. Nil: there is
	// not.
	Key func() (FirstKey, error)
}

// FirstKey is the first key of an owner.
type FirstKey struct {
	// Text is the key; empty: one is made.
	Text string
	// Show brings the key to the owner before it is committed: its error leaves
	// everything as it was, so that the next start is a first one again.
	Show func(key string) error
}

// Adopt gives every organization that has no member an owner with this e-mail
// address, and keys that are nobody's to the owner of what they open (decision
// 21). Somebody who becomes an owner so, and has no key that opens everything, gets
// one, where a.Key is there. It is for the start of a server and for after a
// definitions file was applied; where nothing is to be done nothing is written.
func (s Service) Adopt(ctx context.Context, a Adoption) error {
	clean, ok := management.NormalizeEmail(a.Email)
	if !ok {
		return errors.New("management: the owner's e-mail address " + a.Email + " is none: use one such as owner@example.com")
	}
	orphans, err := management.Read(ctx, &s.Env, func(tx Tx) (bool, error) {
		list, err := organizationsWithoutMembers(tx)
		if err != nil || len(list) > 0 {
			return true, err
		}
		keys, err := tx.Keys(0)
		return len(keys) > 0, err
	})
	if err != nil || !orphans {
		return err
	}
	return s.Env.Store.Write(ctx, func(tx Tx) error {
		list, err := organizationsWithoutMembers(tx)
		if err != nil {
			return err
		}
		var owner *management.User
		for i := range list {
			if owner, err = s.ownerFor(tx, list[i].ID, clean); err != nil {
				return err
			}
		}
		if err := s.adoptKeys(tx); err != nil || owner == nil || a.Key == nil {
			return err
		}
		return s.addFirstKey(tx, owner, a.Key)
	})
}

// addFirstKey makes and shows the key of a new owner, who may have had one that opens
// everything before.
func (s Service) addFirstKey(tx Tx, owner *management.User, key func() (FirstKey, error)) error {
	keys, err := tx.Keys(owner.ID)
	if err != nil {
		return err
	}
	for i := range keys {
		if k := &keys[i]; k.Origin == "" && !k.Secret && len(k.Projects)+len(k.Organizations) == 0 && (k.Scopes == nil || slices.Contains(k.Scopes, allScopes)) {
			return nil
		}
	}
	first, err := key()
	if err != nil {
		return err
	}
	value := first.Text
	if value == "" {
		value = NewPersonalKey()
	}
	hash := management.HashKey(value)
	if other, err := tx.Key(hash); err != nil || other != nil {
		if err == nil {
			err = errors.New("management: the key that is to be the owner's is another one already: give another")
		}
		return err
	}
	label := []rune("First key of " + owner.Email)
	k := &management.KeyRecord{
		ID: management.RandomText(24), User: owner.ID, CreatedAt: s.Env.Now(), Scopes: []string{allScopes},
		Hash: hash, Mask: management.MaskKey(value), Label: string(label[:min(len(label), maxKeyLabel)]),
	}
	if err := tx.PutKey(k); err != nil {
		return err
	}
	return first.Show(value)
}

// organizationsWithoutMembers are the organizations without members.
func organizationsWithoutMembers(tx Tx) (out []management.OrganizationRecord, err error) {
	all, err := tx.Organizations()
	if err != nil {
		return nil, err
	}
	for i := range all {
		_, members, err := tx.List(management.Query{Kind: management.KindMember, Parent: all[i].ID, Limit: 1})
		if err != nil {
			return nil, err
		}
		if members == 0 {
			out = append(out, all[i])
		}
	}
	return out, nil
}

// ownerFor makes somebody the owner of an organization, and the user where there
// is none of that address.
func (s Service) ownerFor(tx Tx, organization, email string) (*management.User, error) {
	u, err := management.UserByEmail(tx, email)
	if err != nil {
		return nil, err
	}
	if u == nil {
		if u, err = s.newUser(tx, email, "Owner"); err != nil {
			return nil, err
		}
		if err := management.PutUser(tx, u); err != nil {
			return nil, err
		}
	}
	now := management.NewStamp(s.Env.Now())
	return u, management.PutMembership(tx, &management.Membership{ID: s.Env.NewID(), Organization: organization, User: u.UUID, Level: management.Owner, Joined: now, Updated: now})
}

// adoptKeys gives keys that are nobody's to the first owner of the organization
// that they open, or of that of their projects, or of the only one.
func (s Service) adoptKeys(tx Tx) error {
	keys, err := tx.Keys(0)
	if err != nil {
		return err
	}
	for i := range keys {
		organization, err := organizationOf(tx, &keys[i])
		if err != nil {
			return err
		}
		owner, err := firstOwner(tx, organization)
		if err != nil {
			return err
		}
		if owner == nil {
			continue
		}
		keys[i].User = owner.ID
		if keys[i].ID == "" {
			keys[i].ID = s.Env.NewID()
		}
		if err := tx.PutKey(&keys[i]); err != nil {
			return err
		}
	}
	return nil
}

func organizationOf(tx Tx, k *management.KeyRecord) (string, error) {
	if len(k.Organizations) > 0 {
		return k.Organizations[0], nil
	}
	for _, id := range k.Projects {
		p, err := tx.Project(id)
		if err != nil {
			return "", err
		}
		if p != nil {
			return p.Organization, nil
		}
	}
	all, err := tx.Organizations()
	if err != nil || len(all) == 0 {
		return "", err
	}
	return all[0].ID, nil
}

func firstOwner(tx Tx, organization string) (*management.User, error) {
	list, _, err := tx.List(management.Query{Kind: management.KindMember, Parent: organization})
	if err != nil {
		return nil, err
	}
	for i := range list {
		m, err := management.Decode[management.Membership](&list[i])
		if err != nil {
			return nil, err
		}
		if m.Level == management.Owner {
			return management.UserByUUID(tx, m.User)
		}
	}
	return nil, nil
}
