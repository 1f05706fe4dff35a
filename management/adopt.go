package management

import (
	"context"
	"errors"
)

// Adopt gives every organization that has no member an owner with this e-mail
// address, and keys that are nobody's to the owner of what they open (decision
// 21). It is for the start of a server and for after a definitions file was
// applied; where nothing is to be done nothing is written.
func (s *Service) Adopt(ctx context.Context, email string) error {
	clean, ok := normalEmail(email)
	if !ok {
		return errors.New("management: the owner's e-mail address " + email + " is none: use one such as owner@example.com")
	}
	orphans, err := read(ctx, s.core, func(tx Tx) (bool, error) {
		list, err := ownerless(tx)
		if err != nil || len(list) > 0 {
			return true, err
		}
		keys, err := tx.Keys(0)
		return len(keys) > 0, err
	})
	if err != nil || !orphans {
		return err
	}
	return s.store.Write(ctx, func(tx Tx) error {
		list, err := ownerless(tx)
		if err != nil {
			return err
		}
		for i := range list {
			if _, err := s.ownerFor(tx, list[i].ID, clean); err != nil {
				return err
			}
		}
		return s.adoptKeys(tx)
	})
}

// ownerless are the organizations without members.
func ownerless(tx Tx) (out []OrganizationRecord, err error) {
	all, err := tx.Organizations()
	if err != nil {
		return nil, err
	}
	for i := range all {
		_, members, err := tx.List(Query{Kind: kindMember, Parent: all[i].ID, Limit: 1})
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
func (s *Service) ownerFor(tx Tx, organization, email string) (*User, error) {
	u, err := userByEmail(tx, email)
	if err != nil {
		return nil, err
	}
	if u == nil {
		if u, err = s.newUser(tx, email, "Owner"); err != nil {
			return nil, err
		}
		if err := putUser(tx, u); err != nil {
			return nil, err
		}
	}
	now := At(s.now())
	return u, putMembership(tx, &Membership{ID: s.newID(), Organization: organization, User: u.UUID, Level: Owner, Joined: now, Updated: now})
}

// adoptKeys gives keys that are nobody's to the first owner of the organization
// of their projects, or of the only organization.
func (s *Service) adoptKeys(tx Tx) error {
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
			keys[i].ID = s.newID()
		}
		if err := tx.PutKey(&keys[i]); err != nil {
			return err
		}
	}
	return nil
}

func organizationOf(tx Tx, k *KeyRecord) (string, error) {
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

func firstOwner(tx Tx, organization string) (*User, error) {
	list, _, err := tx.List(Query{Kind: kindMember, Parent: organization})
	if err != nil {
		return nil, err
	}
	for i := range list {
		m, err := decode[Membership](&list[i])
		if err != nil {
			return nil, err
		}
		if m.Level == Owner {
			return userByUUID(tx, m.User)
		}
	}
	return nil, nil
}
