package files

import (
	"fmt"
	"slices"
)

// noOrganization is the id of the organization for files that do not name one.
const noOrganization = "00000000-0000-0000-0000-000000000000"

// Apply writes the differences between a file and the store. origin is the path of the
// file. It returns the projects whose definitions have changed. With the zero File,
// every object of this origin is deleted.
//
// A project that was created through the API becomes a project of the file. It is an
// error if a project belongs to another file, if its id belongs to another project, or
// if a group type has another number in the store.
func Apply(tx Tx, origin string, f *File) (changed []int64, err error) {
	y := &state{tx: tx, origin: origin, file: f}
	if y.stored, err = tx.Projects(); err != nil {
		return nil, err
	}
	if err := y.lock(); err != nil {
		return nil, err
	}
	// Projects of the file come first, then the projects that are no longer in it, then
	// keys, which may refer to both.
	if err := y.saveOrganization(); err != nil {
		return nil, err
	}
	var present []int64
	for i := range f.projects {
		p := &f.projects[i]
		if err := y.saveProject(p); err != nil {
			return nil, fmt.Errorf("project %q: %w", p.APIKey, err)
		}
		present = append(present, p.ID)
	}
	for _, old := range y.stored {
		if old.Origin != y.origin || old.Deleted || slices.Contains(present, old.ID) {
			continue
		}
		y.changed = append(y.changed, old.ID)
		old.Deleted = true
		if err := tx.PutProject(&old, true); err != nil {
			return nil, err
		}
	}
	return y.changed, y.saveKeys()
}

// saveOrganization writes the organization of the file. An organization that other
// files contain too must have the same quotas in all of them. Organizations that are no
// longer in the file stay, without an origin.
func (y *state) saveOrganization() error {
	if len(y.file.projects) == 0 {
		return y.tx.ReleaseOrganizations(y.origin, "")
	}
	o := &y.file.organization
	next := Organization{ID: y.tx.Text(o.ID), Name: y.tx.Text(o.Name), Quotas: quotasText(o.Quotas), Origin: y.origin}
	if next.ID == "" {
		next.ID = noOrganization
	}
	if next.Name == "" {
		next.Name = "Default organization"
	}
	y.organization = next.ID
	old, err := y.tx.Organization(next.ID)
	switch {
	case err != nil:
		return err
	case old == nil:
		err = y.tx.PutOrganization(&next)
	case old.Origin != "" && old.Origin != y.origin:
		if len(o.Quotas) > 0 && next.Quotas != old.Quotas {
			return fmt.Errorf("the organization %s stands in %s too, with other quotas: give them in one file only, or the same in both", old.ID, old.Origin)
		}
	case *old != next:
		if o.Name == "" {
			next.Name = old.Name
		}
		err = y.tx.PutOrganization(&next)
	}
	if err != nil {
		return err
	}
	return y.tx.ReleaseOrganizations(y.origin, next.ID)
}

// findProject returns the stored project with the key of p, or nil if p is new. It
// returns an error if the project belongs to another file or if id and key belong to
// two projects.
func (y *state) findProject(p *project) (*Project, error) {
	for i := range y.stored {
		old := &y.stored[i]
		switch {
		case old.APIKey == p.APIKey && old.ID != p.ID:
			return nil, fmt.Errorf("its id in the store is %d, not %d: an id cannot change, give that one", old.ID, p.ID)
		case old.APIKey == p.APIKey && old.Origin != "" && old.Origin != y.origin && !old.Deleted:
			return nil, fmt.Errorf("it stands in %s too: a project may stand in one file only", old.Origin)
		case old.APIKey == p.APIKey:
			return old, nil
		}
	}
	for i := range y.stored {
		if y.stored[i].ID == p.ID {
			return nil, fmt.Errorf("the id %d is that of the project with the api_key %q: choose another id", p.ID, y.stored[i].APIKey)
		}
	}
	return nil, nil
}

// saveProject writes a project with its definitions if it differs from the stored one.
func (y *state) saveProject(p *project) error {
	old, err := y.findProject(p)
	if err != nil {
		return err
	}
	next := &Project{
		ID: p.ID, Organization: y.organization, Name: y.tx.Text(p.Name), APIKey: p.APIKey,
		Settings: p.settings, Paused: p.QuotaLimited, Origin: y.origin,
	}
	if old == nil {
		y.changed = append(y.changed, p.ID)
		if err := y.tx.PutProject(next, false); err != nil {
			return err
		}
		_, err := y.saveDefinitions(p)
		return err
	}
	changed, err := y.saveDefinitions(p)
	if err != nil {
		return err
	}
	changed = changed || old.Deleted || old.Settings != p.settings
	if !changed && old.Organization == next.Organization && old.Name == next.Name && slices.Equal(old.Paused, next.Paused) && old.Origin == y.origin {
		return nil
	}
	// Clients reload definitions if the revision differs, so other changes, such as a
	// new name, leave it as it is.
	if changed {
		y.changed = append(y.changed, p.ID)
	}
	return y.tx.PutProject(next, changed)
}
