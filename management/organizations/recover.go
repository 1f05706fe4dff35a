package organizations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// ErrNoOwner is for recovering where no organization has an owner.
var ErrNoOwner = errors.New("management: there is no owner")

// maxOwnersListed is how many owners an error lists.
const maxOwnersListed = 20

// RecoverKey makes a key that opens everything for an owner whose keys are lost:
// the one with this e-mail address, or the first one when it is empty. It is for
// whoever may write to the store, not for a request; the limit of keys (§1.10) does
// not hold, and the other keys stay. show gets the owner's address and the key
// before it is committed: its error leaves everything as it was.
func (s Service) RecoverKey(ctx context.Context, email string, show func(owner string, k *APIKey) error) error {
	return s.Env.Store.Write(ctx, func(tx Tx) error {
		owner, err := findOwner(tx, email)
		if err != nil {
			return err
		}
		label := []rune("Recovered key of " + owner.Email)
		k := &ownKey{KeyRecord: management.KeyRecord{
			ID: management.RandomText(24), User: owner.ID, CreatedAt: s.Env.Now(), Scopes: []string{allScopes},
			Label: string(label[:min(len(label), maxKeyLabel)]),
		}}
		k.renew()
		if err := tx.PutKey(&k.KeyRecord); err != nil {
			return err
		}
		memberships, err := management.MembershipsOf(tx, owner.UUID)
		if err != nil {
			return err
		}
		for _, m := range memberships {
			if err := s.Env.LogActivity(tx, nil, m.Organization, keyActivityScope, k.ID, k.Label, nil, viewKey(&k.KeyRecord)); err != nil {
				return err
			}
		}
		out := viewKey(&k.KeyRecord)
		out.Value = &k.value
		return show(owner.Email, out)
	})
}

// findOwner is an owner of some organization who is not switched off.
func findOwner(tx Tx, email string) (*management.User, error) {
	organizations, err := tx.Organizations()
	if err != nil {
		return nil, err
	}
	owners := map[string]*management.User{}
	for i := range organizations {
		list, _, err := tx.List(management.Query{Kind: management.KindMember, Parent: organizations[i].ID})
		if err != nil {
			return nil, err
		}
		for j := range list {
			m, err := management.Decode[management.Membership](&list[j])
			if err != nil {
				return nil, err
			}
			if m.Level != management.Owner || owners[m.User] != nil {
				continue
			}
			u, err := management.UserByUUID(tx, m.User)
			if err != nil {
				return nil, err
			}
			if u != nil && !u.Inactive {
				owners[m.User] = u
			}
		}
	}
	if len(owners) == 0 {
		return nil, ErrNoOwner
	}
	sorted := make([]*management.User, 0, len(owners))
	for _, u := range owners {
		sorted = append(sorted, u)
	}
	slices.SortFunc(sorted, func(a, b *management.User) int { return cmp.Compare(a.ID, b.ID) })
	if email == "" {
		return sorted[0], nil
	}
	var names []string
	for _, u := range sorted {
		if management.EmailKey(u.Email) == management.EmailKey(email) {
			return u, nil
		}
		names = append(names, u.Email)
	}
	more := ""
	if len(names) > maxOwnersListed {
		more = fmt.Sprintf(" and %d more", len(names)-maxOwnersListed)
		names = names[:maxOwnersListed]
	}
	return nil, fmt.Errorf("no owner has the e-mail address %q, only %s%s", email, strings.Join(names, ", "), more)
}
