package organizations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// ErrNoOwner is returned by RecoverKey if no organization has an owner.
var ErrNoOwner = errors.New("management: there is no owner")

// noSuchOwnerError is returned by findOwner if there are owners, but none with the address.
type noSuchOwnerError struct{ text string }

func (e *noSuchOwnerError) Error() string { return e.text }

// maxOwnersListed is the greatest number of owners in the message of an error.
const maxOwnersListed = 20

// RecoverKey creates an unrestricted key for an owner who has lost all keys: the owner with an
// e-mail address, or the first owner if email is empty. It is for an operator with access to the
// store and not for requests. The limit of keys (§1.10) does not apply, and other keys stay valid.
// show is called with the owner's address, the key and its text before the transaction commits; if it returns
// an error, nothing is stored.
func (s Service) RecoverKey(ctx context.Context, email string, show func(owner string, k *management.KeyRecord, text string) error) error {
	return s.Env.Store.Write(ctx, func(tx Tx) error {
		owner, err := findOwner(tx, email)
		if err != nil {
			return err
		}
		// The label is cut at characters, not at bytes.
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
		// The caller is nil: the log has the server as the author, and organizations see that a key
		// was created.
		for _, m := range memberships {
			if err := s.Env.LogActivity(tx, nil, m.Organization, keyActivityScope, k.ID, k.Label, nil, viewKey(&k.KeyRecord)); err != nil {
				return err
			}
		}
		return show(owner.Email, &k.KeyRecord, k.value)
	})
}

// findOwner returns an active owner of any organization: the one with an e-mail address, or the one
// with the lowest number if email is empty.
func findOwner(tx Tx, email string) (*management.User, error) {
	owners, err := activeOwners(tx)
	if err != nil {
		return nil, err
	}
	if len(owners) == 0 {
		return nil, ErrNoOwner
	}
	if email == "" {
		return owners[0], nil
	}
	var names []string
	for _, u := range owners {
		if management.EmailKey(u.Email) == management.EmailKey(email) {
			return u, nil
		}
		names = append(names, u.Email)
	}
	more := ""
	// The list is for an operator's terminal.
	if len(names) > maxOwnersListed {
		more = fmt.Sprintf(" and %d more", len(names)-maxOwnersListed)
		names = names[:maxOwnersListed]
	}
	return nil, &noSuchOwnerError{fmt.Sprintf("no owner has the email address %q, only %s%s", email, strings.Join(names, ", "), more)}
}

// activeOwners returns all active users that own an organization, the oldest first.
func activeOwners(tx Tx) ([]*management.User, error) {
	organizations, err := tx.Organizations()
	if err != nil {
		return nil, err
	}
	// A user can own several organizations.
	owners := map[string]*management.User{}
	for i := range organizations {
		if err := addOwners(tx, organizations[i].ID, owners); err != nil {
			return nil, err
		}
	}
	// Numbers increase with time.
	return slices.SortedFunc(maps.Values(owners), func(a, b *management.User) int { return cmp.Compare(a.ID, b.ID) }), nil
}

// addOwners adds the active owners of an organization to a map by uuid.
func addOwners(tx Tx, organization string, owners map[string]*management.User) error {
	list, err := management.ListRecords[management.Membership](tx, management.Query{Kind: storage.KindMember, Parent: organization})
	if err != nil {
		return err
	}
	for _, m := range list.Results {
		if m.Level != management.Owner || owners[m.User] != nil {
			continue
		}
		u, err := management.UserByUUID(tx, m.User)
		if err != nil {
			return err
		}
		if u != nil && !u.Inactive {
			owners[m.User] = u
		}
	}
	return nil
}
