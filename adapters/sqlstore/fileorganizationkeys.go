package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// organizationKeys returns the personal keys of the file's organization, by hash. A
// file without projects has no organization and therefore no such keys. projectKeys are
// the keys of projects, which must be different ones.
func (y *fileSync) organizationKeys(projectKeys map[string]*fileKey) (map[string]*fileKey, error) {
	out := map[string]*fileKey{}
	if len(y.projects) == 0 {
		return out, nil
	}
	for i, k := range y.keys {
		scopes := append([]string{}, k.Scopes...)
		slices.Sort(scopes)
		key := &fileKey{
			kind: PersonalKey, mask: management.MaskKey(k.Key), scopes: jsonText(scopes),
			position: fmt.Sprintf("personal_api_keys[%d] of the organization", i),
		}
		hash := management.HashKey(k.Key)
		switch old := out[hash]; {
		case k.Key == "":
			return nil, fmt.Errorf("%s is empty", key.position)
		case projectKeys[hash] != nil:
			return nil, fmt.Errorf("%s is also %s: a key opens the organization or projects, leave one out", key.position, projectKeys[hash].position)
		case old != nil && old.scopes != key.scopes:
			return nil, fmt.Errorf("%s stands in several places with different scopes", key.position)
		}
		out[hash] = key
	}
	return out, nil
}

// closeOrganizationKeys deletes the keys of the organization that are no longer in the
// file.
func (y *fileSync) closeOrganizationKeys(keys map[string]*fileKey) error {
	stored, err := column[string](y.ctx, y.tx, `SELECT hash FROM api_keys WHERE origin = $1 AND organizations <> '[]'`, y.origin)
	if err != nil {
		return err
	}
	for _, hash := range stored {
		if keys[hash] != nil {
			continue
		}
		if err := y.exec(`DELETE FROM api_keys WHERE hash = $1`, hash); err != nil {
			return err
		}
	}
	return nil
}

// saveOrganizationKey stores a key with access to the organization of the file and all
// of its projects.
func (y *fileSync) saveOrganizationKey(hash string, k *fileKey) error {
	organizations := jsonText([]string{y.organization.ID})
	var scopes, current, projects, origin string
	err := y.tx.QueryRowContext(y.ctx, `SELECT scopes, organizations, projects, origin FROM api_keys WHERE hash = $1`, hash).Scan(&scopes, &current, &projects, &origin)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return y.exec(`INSERT INTO api_keys (hash, kind, mask, scopes, organizations, origin, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			hash, k.kind, k.mask, k.scopes, organizations, y.origin, micros(y.store.now()))
	case err != nil:
		return err
	case origin == "":
		return fmt.Errorf("%s is in the store already, made through the API: leave it out, or take another", k.position)
	case origin != y.origin:
		return fmt.Errorf("%s stands in %s too: give it in one file only", k.position, origin)
	case scopes == k.scopes && current == organizations && projects == "[]":
		return nil
	}
	// Another organization may have another owner, so the key loses its user.
	return y.exec(`UPDATE api_keys SET scopes = $2, organizations = $3, projects = '[]',
		user_id = CASE WHEN organizations = $3 THEN user_id ELSE 0 END WHERE hash = $1`, hash, k.scopes, organizations)
}
