package files

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// fileKey is a personal or secret key in a file, with its location in the file for
// messages.
type fileKey struct {
	Key
	position string
}

// sameAccess reports whether a key has the kind and the scopes of another one.
func (k *Key) sameAccess(other *Key) bool {
	return k.Secret == other.Secret && slices.Equal(k.Scopes, other.Scopes)
}

// newKey returns a key of the file.
func (y *state) newKey(key string, secret bool, scopes []string, position string) *fileKey {
	return &fileKey{
		Key:      Key{Hash: management.HashKey(key), Mask: management.MaskKey(key), Secret: secret, Scopes: slices.Sorted(slices.Values(scopes)), Origin: y.origin},
		position: position,
	}
}

// projectKeys returns the keys of the file's projects by hash. A personal key may occur
// in several projects.
func (y *state) projectKeys() (map[string]*fileKey, error) {
	out := map[string]*fileKey{}
	add := func(p *project, list string, i int, key string, secret bool, scopes []string) error {
		k := y.newKey(key, secret, scopes, fmt.Sprintf("%s[%d] of the project %q", list, i, p.APIKey))
		old := out[k.Hash]
		switch {
		case key == "":
			return fmt.Errorf("%s is empty", k.position)
		case old == nil:
			old = k
			out[k.Hash] = old
		case !old.sameAccess(&k.Key):
			return fmt.Errorf("%s stands in several places as different kinds of keys, or with different scopes", k.position)
		case secret:
			return fmt.Errorf("%s stands in several places: a secret key belongs to one project", k.position)
		}
		if !slices.Contains(old.Projects, p.ID) {
			old.Projects = append(old.Projects, p.ID)
		}
		return nil
	}
	for i := range y.file.projects {
		p := &y.file.projects[i]
		for j, k := range p.PersonalKeys {
			if err := add(p, "personal_api_keys", j, k.Key, false, k.Scopes); err != nil {
				return nil, err
			}
		}
		for j, k := range p.SecretKeys {
			if err := add(p, "secret_api_keys", j, k, true, nil); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// organizationKeys returns the personal keys of the file's organization, by hash. A
// file without projects has no organization and therefore no such keys. projectKeys are
// the keys of projects, which must be different ones.
func (y *state) organizationKeys(projectKeys map[string]*fileKey) (map[string]*fileKey, error) {
	out := map[string]*fileKey{}
	if len(y.file.projects) == 0 {
		return out, nil
	}
	for i, k := range y.file.keys {
		key := y.newKey(k.Key, false, k.Scopes, fmt.Sprintf("personal_api_keys[%d] of the organization", i))
		key.Organizations = []string{y.organization}
		switch old := out[key.Hash]; {
		case k.Key == "":
			return nil, fmt.Errorf("%s is empty", key.position)
		case projectKeys[key.Hash] != nil:
			return nil, fmt.Errorf("%s is also %s: a key opens the organization or projects, leave one out", key.position, projectKeys[key.Hash].position)
		case old != nil && !old.sameAccess(&key.Key):
			return nil, fmt.Errorf("%s stands in several places with different scopes", key.position)
		}
		out[key.Hash] = key
	}
	return out, nil
}

// saveKeys gives the keys of the file access to its projects, and removes the access of
// keys that are no longer in the file. A key that occurs in several files has access to
// the projects of all of them.
func (y *state) saveKeys() error {
	keys, err := y.projectKeys()
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
	for i := range y.file.projects {
		ownProjects = append(ownProjects, y.file.projects[i].ID)
		if k := all[management.HashKey(y.file.projects[i].APIKey)]; k != nil {
			return fmt.Errorf("%s is the public api_key of a project", k.position)
		}
	}
	for i := range y.stored {
		p := &y.stored[i]
		if p.Origin == y.origin {
			ownProjects = append(ownProjects, p.ID)
		}
		if k := all[management.HashKey(p.APIKey)]; k != nil && !p.Deleted {
			return fmt.Errorf("%s is the public api_key of a project", k.position)
		}
	}
	// Keys that left the file first, since a key may move from the organization to a
	// project or back.
	if err := y.closeKeys(keys, orgKeys, ownProjects); err != nil {
		return err
	}
	for _, hash := range slices.Sorted(maps.Keys(keys)) {
		if err := y.saveKey(keys[hash], ownProjects); err != nil {
			return err
		}
	}
	for _, hash := range slices.Sorted(maps.Keys(orgKeys)) {
		if err := y.saveOrganizationKey(orgKeys[hash]); err != nil {
			return err
		}
	}
	return nil
}

// without returns the projects of a list that are not among others.
func without(projects, others []int64) []int64 {
	return slices.DeleteFunc(slices.Clone(projects), func(id int64) bool { return slices.Contains(others, id) })
}

// closeKeys deletes keys that are no longer in the file, and removes the access to the
// file's projects from those that are also in other files. Keys from the API, without an
// origin, are not affected.
func (y *state) closeKeys(keys, orgKeys map[string]*fileKey, ownProjects []int64) error {
	stored, err := y.tx.Keys()
	if err != nil {
		return err
	}
	for i := range stored {
		k := &stored[i]
		remaining := without(k.Projects, ownProjects)
		left := len(k.Organizations) > 0 && k.Origin == y.origin && orgKeys[k.Hash] == nil
		switch {
		case left, keys[k.Hash] == nil && len(k.Projects) > 0 && len(remaining) == 0: // an empty list would mean access to every project
			err = y.tx.DeleteKey(k.Hash)
		case keys[k.Hash] == nil && len(remaining) < len(k.Projects):
			k.Projects = remaining
			err = y.tx.PutKey(k)
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
func (y *state) saveKey(k *fileKey, ownProjects []int64) error {
	old, err := y.tx.Key(k.Hash)
	if err != nil {
		return err
	}
	if old == nil {
		slices.Sort(k.Projects)
		return y.tx.PutKey(&k.Key)
	}
	otherProjects := without(old.Projects, ownProjects)
	shared := old.Origin == "" || len(otherProjects) > 0
	switch {
	case len(old.Organizations) > 0:
		return fmt.Errorf("%s opens an organization already (%s): leave one out", k.position, cmp.Or(old.Origin, "made through the API"))
	case shared && !old.sameAccess(&k.Key):
		return fmt.Errorf("%s is in the store already, as another kind of key or with other scopes", k.position)
	case shared && k.Secret:
		return fmt.Errorf("%s is the secret key of another project already", k.position)
	case old.Origin == "" && len(old.Projects) == 0: // it has access to every project
		return nil
	}
	k.Origin, k.Projects = old.Origin, append(otherProjects, k.Projects...)
	slices.Sort(k.Projects)
	k.Projects = slices.Compact(k.Projects)
	if old.sameAccess(&k.Key) && slices.Equal(k.Projects, old.Projects) {
		return nil
	}
	return y.tx.PutKey(&k.Key)
}

// saveOrganizationKey stores a key with access to the organization of the file and all
// of its projects.
func (y *state) saveOrganizationKey(k *fileKey) error {
	old, err := y.tx.Key(k.Hash)
	switch {
	case err != nil:
		return err
	case old == nil:
		return y.tx.PutKey(&k.Key)
	case old.Origin == "":
		return fmt.Errorf("%s is in the store already, made through the API: leave it out, or take another", k.position)
	case old.Origin != y.origin:
		return fmt.Errorf("%s stands in %s too: give it in one file only", k.position, old.Origin)
	case slices.Equal(old.Scopes, k.Scopes) && slices.Equal(old.Organizations, k.Organizations) && len(old.Projects) == 0:
		return nil
	}
	// Another organization may have another owner, so the key loses its user.
	k.WithoutUser = !slices.Equal(old.Organizations, k.Organizations)
	return y.tx.PutKey(&k.Key)
}
