package organizations

import (
	"context"
	"errors"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Adoption describes the owner of organizations without members.
type Adoption struct {
	Email string
	// Key returns the owner's first key; if text is empty, a random key is generated. It is called
	// only if a key is created. If nil, the owner gets no key. show displays the key to the owner
	// before the transaction commits. If it returns an error, nothing is stored, so the next start of
	// the server tries again.
	Key func() (text string, show func(key string) error, err error)
}

// Adopt makes the user with an e-mail address the owner of every organization without members, and
// assigns keys without a user to the owner of the organization that they open (decision 21). If
// a.Key is set, a new owner without an unrestricted key gets one.
//
// It must be called at the start of a server and after a definitions file was applied. If there is
// nothing to do, it does not write.
func (s Service) Adopt(ctx context.Context, a Adoption) error {
	clean, ok := plain.NormalizeEmail(a.Email)
	if !ok {
		return errors.New("management: the owner's email address " + a.Email + " is invalid: use an address such as owner@example.com")
	}
	// Usually there is no work, so a read transaction checks first.
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

// addFirstKey creates and shows the key of a new owner, unless the owner already has an
// unrestricted key that is not from a definitions file.
func (s Service) addFirstKey(tx Tx, owner *management.User, key func() (string, func(string) error, error)) error {
	keys, err := tx.Keys(owner.ID)
	if err != nil {
		return err
	}
	for i := range keys {
		// Keys of a definitions file do not count, since they end with the file.
		if k := &keys[i]; k.Origin == "" && !k.Secret && len(k.Projects)+len(k.Organizations) == 0 && (k.Scopes == nil || slices.Contains(k.Scopes, allScopes)) {
			return nil
		}
	}
	value, show, err := key()
	if err != nil {
		return err
	}
	if value == "" {
		value = NewPersonalKey()
	}
	hash := management.HashKey(value)
	// The text may already be the key of another user.
	if other, err := tx.Key(hash); err != nil || other != nil {
		if err == nil {
			err = errors.New("management: the key for the owner is already in use: give another key")
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
	// show is called last: its error rolls back everything in this transaction.
	return show(value)
}

// organizationsWithoutMembers returns the organizations without members.
func organizationsWithoutMembers(tx Tx) (out []management.OrganizationRecord, err error) {
	all, err := tx.Organizations()
	if err != nil {
		return nil, err
	}
	for i := range all {
		_, members, err := tx.List(management.Query{Kind: storage.KindMember, Parent: all[i].ID, Limit: 1})
		if err != nil {
			return nil, err
		}
		// Inactive members count, too.
		if members == 0 {
			out = append(out, all[i])
		}
	}
	return out, nil
}

// ownerFor makes the user with an e-mail address an owner of an organization. It creates the user
// if necessary.
func (s Service) ownerFor(tx Tx, organization, email string) (*management.User, error) {
	u, err := management.UserByEmail(tx, email)
	if err != nil {
		return nil, err
	}
	if u == nil {
		if u, err = s.newUser(tx, email, "Owner"); err != nil {
			return nil, err
		}
		if err := records.PutUser(tx, u); err != nil {
			return nil, err
		}
	}
	now := management.NewStamp(s.Env.Now())
	return u, records.PutMembership(tx, &management.Membership{ID: s.Env.NewID(), Organization: organization, User: u.UUID, Level: management.Owner, Joined: now, Updated: now})
}

// adoptKeys assigns each key without a user to the first owner of the key's organization. Keys of
// organizations without an owner stay unassigned.
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
		// Keys of a definitions file have no id before they have a user.
		if keys[i].ID == "" {
			keys[i].ID = s.Env.NewID()
		}
		if err := tx.PutKey(&keys[i]); err != nil {
			return err
		}
	}
	return nil
}

// organizationOf returns the organization that a key opens: the first that it lists, that of its
// first existing project, or the first of all.
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

// firstOwner returns the owner with the oldest membership, or nil if the organization has no owner.
func firstOwner(tx Tx, organization string) (*management.User, error) {
	list, err := management.ListRecords[management.Membership](tx, management.Query{Kind: storage.KindMember, Parent: organization})
	if err != nil {
		return nil, err
	}
	for _, m := range list.Results {
		if m.Level == management.Owner {
			return management.UserByUUID(tx, m.User)
		}
	}
	return nil, nil
}
