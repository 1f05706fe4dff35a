package sqlstore

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// fileKey is a personal or secret API key in a definitions file.
type fileKey struct {
	kind   keyKind
	mask   string
	scopes string // JSON array
	// projects are the ids of the projects that the key gives access to.
	projects []int64
	position string // its location in the file, for messages
}

// keysByHash returns the keys of the file's projects by hash. A personal key may occur
// in several projects.
func (y *fileSync) keysByHash() (map[string]*fileKey, error) {
	out := map[string]*fileKey{}
	add := func(p *fileProject, list string, i int, key string, k fileKey) error {
		k.position = fmt.Sprintf("%s[%d] of the project %q", list, i, p.APIKey)
		hash := management.HashKey(key)
		old := out[hash]
		switch {
		case key == "":
			return fmt.Errorf("%s is empty", k.position)
		case old == nil:
			old = &k
			out[hash] = old
		case old.kind != k.kind || old.scopes != k.scopes:
			return fmt.Errorf("%s stands in several places as different kinds of keys, or with different scopes", k.position)
		case k.kind == SecretKey:
			return fmt.Errorf("%s stands in several places: a secret key belongs to one project", k.position)
		}
		if !slices.Contains(old.projects, p.ID) {
			old.projects = append(old.projects, p.ID)
		}
		return nil
	}
	for i := range y.projects {
		p := &y.projects[i]
		for j, k := range p.PersonalKeys {
			scopes := append([]string{}, k.Scopes...)
			slices.Sort(scopes)
			if err := add(p, "personal_api_keys", j, k.Key, fileKey{kind: PersonalKey, mask: management.MaskKey(k.Key), scopes: jsonText(scopes)}); err != nil {
				return nil, err
			}
		}
		for j, k := range p.SecretKeys {
			if err := add(p, "secret_api_keys", j, k, fileKey{kind: SecretKey, mask: management.MaskKey(k), scopes: "[]"}); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// saveKeys gives the keys of the file access to its projects, and removes the access of
// keys that are no longer in the file. A key that occurs in several files has access to
// the projects of all of them.
func (y *fileSync) saveKeys(stored []storedProject) error {
	keys, err := y.keysByHash()
	if err != nil {
		return err
	}
	orgKeys, err := y.organizationKeys(keys)
	if err != nil {
		return err
	}
	all := maps.Clone(keys)
	maps.Copy(all, orgKeys)
	var ownProjects []int64 // the projects that only this file controls
	for i := range y.projects {
		ownProjects = append(ownProjects, y.projects[i].ID)
		if k := all[management.HashKey(y.projects[i].APIKey)]; k != nil {
			return fmt.Errorf("%s is the public api_key of a project", k.position)
		}
	}
	for _, p := range stored {
		if p.origin == y.origin {
			ownProjects = append(ownProjects, p.id)
		}
		if k := all[management.HashKey(p.apiKey)]; k != nil && !p.deleted {
			return fmt.Errorf("%s is the public api_key of a project", k.position)
		}
	}
	// Keys that left the file first, since a key may move from the organization to a
	// project or back.
	if err := errors.Join(y.closeOrganizationKeys(orgKeys), y.closeKeys(keys, ownProjects)); err != nil {
		return err
	}
	for hash, k := range keys {
		if err := y.saveKey(hash, k, ownProjects); err != nil {
			return err
		}
	}
	for hash, k := range orgKeys {
		if err := y.saveOrganizationKey(hash, k); err != nil {
			return err
		}
	}
	return nil
}

// closeKeys removes the access to the file's projects from keys that are no longer in
// the file. Keys from the API, without an origin, are not affected.
func (y *fileSync) closeKeys(keys map[string]*fileKey, ownProjects []int64) error {
	type opened struct {
		hash     string
		projects []int64
	}
	stored, err := list(y.ctx, y.tx, func(k *opened) []any { return []any{&k.hash, scanJSON(&k.projects)} }, `SELECT hash, projects FROM api_keys WHERE origin <> ''`)
	if err != nil {
		return err
	}
	for _, k := range stored {
		// What remains is the access to projects of other files.
		remaining := slices.DeleteFunc(slices.Clone(k.projects), func(id int64) bool { return slices.Contains(ownProjects, id) })
		switch {
		case keys[k.hash] != nil || len(remaining) == len(k.projects):
			continue
		case len(remaining) == 0: // an empty list would mean access to every project
			err = y.exec(`DELETE FROM api_keys WHERE hash = $1`, k.hash)
		default:
			err = y.exec(`UPDATE api_keys SET projects = $2 WHERE hash = $1`, k.hash, jsonText(remaining))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// saveKey stores a key with access to the file's projects and to the projects outside
// the file that it has access to already. A key that is shared with other files or the
// API must have the same kind and scopes there.
func (y *fileSync) saveKey(hash string, k *fileKey, ownProjects []int64) error {
	var kind keyKind
	var scopes, organizations, origin string
	var current []int64
	err := y.tx.QueryRowContext(y.ctx, `SELECT kind, scopes, projects, organizations, origin FROM api_keys WHERE hash = $1`, hash).
		Scan(&kind, &scopes, scanJSON(&current), &organizations, &origin)
	if errors.Is(err, sql.ErrNoRows) {
		slices.Sort(k.projects)
		return y.exec(`INSERT INTO api_keys (hash, kind, mask, scopes, projects, origin, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			hash, k.kind, k.mask, k.scopes, jsonText(k.projects), y.origin, micros(y.store.now()))
	}
	if err != nil {
		return err
	}
	otherProjects := slices.DeleteFunc(slices.Clone(current), func(id int64) bool { return slices.Contains(ownProjects, id) })
	shared := origin == "" || len(otherProjects) > 0
	switch {
	case organizations != "[]":
		return fmt.Errorf("%s opens an organization already (%s): leave one out", k.position, cmp.Or(origin, "made through the API"))
	case shared && (kind != k.kind || scopes != k.scopes):
		return fmt.Errorf("%s is in the store already, as another kind of key or with other scopes", k.position)
	case shared && k.kind == SecretKey:
		return fmt.Errorf("%s is the secret key of another project already", k.position)
	case origin == "" && len(current) == 0: // it has access to every project
		return nil
	}
	all := append(otherProjects, k.projects...)
	slices.Sort(all)
	all = slices.Compact(all)
	if kind == k.kind && scopes == k.scopes && slices.Equal(all, current) {
		return nil
	}
	return y.exec(`UPDATE api_keys SET kind = $2, mask = $3, scopes = $4, projects = $5 WHERE hash = $1`, hash, k.kind, k.mask, k.scopes, jsonText(all))
}
