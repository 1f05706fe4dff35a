package memstore

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// copyOrganization returns a copy in stored form that shares no memory with o.
func copyOrganization(o management.OrganizationRecord) management.OrganizationRecord {
	o.ID, o.Name, o.Meta = clean(o.ID), clean(o.Name), object(o.Meta)
	o.Quotas = maps.Clone(o.Quotas)
	for resource, limit := range o.Quotas {
		if limit != nil {
			own := *limit
			o.Quotas[resource] = &own
		}
	}
	return o
}

// Organization implements rooms.Tx.
func (t *tx) Organization(id string) (*management.OrganizationRecord, error) {
	return lookup(t.organizations, clean(id), copyOrganization), nil
}

// Organizations implements rooms.Tx.
func (t *tx) Organizations() ([]management.OrganizationRecord, error) {
	return filter(t.organizations, func(string, management.OrganizationRecord) bool { return true }, copyOrganization,
		func(a, b management.OrganizationRecord) int { return cmp.Compare(a.ID, b.ID) }), nil
}

// PutOrganization implements rooms.Tx.
func (t *tx) PutOrganization(o *management.OrganizationRecord) error {
	stored := copyOrganization(*o)
	return t.write(func() {
		t.organizations[stored.ID] = stored
		for id, p := range t.projects {
			if p.Organization == stored.ID { // quotas are part of its definitions
				t.changed[id] = true
			}
		}
	})
}

// DeleteOrganization implements rooms.Tx. It is an error if the organization has projects.
func (t *tx) DeleteOrganization(id string) error {
	if remaining, _ := t.Projects(id); len(remaining) > 0 {
		return fmt.Errorf("memstore: the organization %s has %d projects", id, len(remaining))
	}
	return t.write(func() { delete(t.organizations, clean(id)) })
}

// copyProject returns a copy in stored form that shares no memory with p.
func copyProject(p management.ProjectRecord) management.ProjectRecord {
	p.Organization, p.Name, p.APIKey = clean(p.Organization), clean(p.Name), clean(p.APIKey)
	p.Meta, p.Browser, p.Paused, p.Settings = object(p.Meta), bytes.Clone(p.Browser), slices.Clone(p.Paused), maps.Clone(p.Settings)
	for name, raw := range p.Settings {
		p.Settings[name] = json.RawMessage(bytes.Clone(raw))
	}
	return p
}

// projectsThat returns the projects for which test is true, by id, without deleted ones.
func (t *tx) projectsThat(test func(*management.ProjectRecord) bool) []management.ProjectRecord {
	return filter(t.projects, func(_ int64, p management.ProjectRecord) bool { return !p.Deleted && test(&p) }, copyProject,
		func(a, b management.ProjectRecord) int { return cmp.Compare(a.ID, b.ID) })
}

// Project implements rooms.Tx.
func (t *tx) Project(id int64) (*management.ProjectRecord, error) {
	return firstOf(t.projectsThat(func(p *management.ProjectRecord) bool { return p.ID == id })), nil
}

// ProjectByKey implements rooms.Tx.
func (t *tx) ProjectByKey(apiKey string) (*management.ProjectRecord, error) {
	return firstOf(t.projectsThat(func(p *management.ProjectRecord) bool { return p.APIKey == clean(apiKey) })), nil
}

// Projects implements rooms.Tx.
func (t *tx) Projects(organizationID string) ([]management.ProjectRecord, error) {
	return t.projectsThat(func(p *management.ProjectRecord) bool {
		return organizationID == "" || p.Organization == clean(organizationID)
	}), nil
}

// PutProject implements rooms.Tx. The key of a deleted project stays in use.
func (t *tx) PutProject(p *management.ProjectRecord) error {
	var highest int64
	for id, other := range t.projects {
		highest = max(highest, id)
		if id != p.ID && other.APIKey == clean(p.APIKey) {
			return management.ErrDuplicate
		}
	}
	return t.write(func() {
		if p.ID == 0 {
			p.ID = highest + 1
		}
		t.projects[p.ID] = copyProject(*p)
		t.changed[p.ID] = true
	})
}

// copyKey returns a copy in stored form that shares no memory with k.
func copyKey(k management.KeyRecord) management.KeyRecord {
	k.ID, k.Label = clean(k.ID), clean(k.Label)
	k.Scopes, k.Projects, k.Organizations = slices.Clone(k.Scopes), slices.Clone(k.Projects), slices.Clone(k.Organizations)
	return k
}

// keysThat returns the keys for which test is true, newest first.
func (t *tx) keysThat(test func(*management.KeyRecord) bool) []management.KeyRecord {
	return filter(t.keys, func(_ string, k management.KeyRecord) bool { return test(&k) }, copyKey, func(a, b management.KeyRecord) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.Hash, b.Hash))
	})
}

// Key implements rooms.Tx.
func (t *tx) Key(hash string) (*management.KeyRecord, error) {
	return lookup(t.keys, hash, copyKey), nil
}

// KeyByID implements rooms.Tx.
func (t *tx) KeyByID(id string) (*management.KeyRecord, error) {
	return firstOf(t.keysThat(func(k *management.KeyRecord) bool { return id != "" && k.ID == clean(id) })), nil
}

// Keys implements rooms.Tx.
func (t *tx) Keys(user int64) ([]management.KeyRecord, error) {
	return t.keysThat(func(k *management.KeyRecord) bool { return k.User == user && !k.Secret }), nil
}

// SecretKeys implements rooms.Tx.
func (t *tx) SecretKeys(projectID int64) ([]management.KeyRecord, error) {
	return t.keysThat(func(k *management.KeyRecord) bool { return k.Secret && slices.Equal(k.Projects, []int64{projectID}) }), nil
}

// PutKey implements rooms.Tx. It deletes the key's entry under a former hash first.
func (t *tx) PutKey(k *management.KeyRecord) error {
	if err := t.DeleteKey(k.ID); err != nil {
		return err
	}
	t.keys[k.Hash] = copyKey(*k)
	return nil
}

// DeleteKey implements rooms.Tx.
func (t *tx) DeleteKey(id string) error {
	return t.write(func() {
		maps.DeleteFunc(t.keys, func(_ string, k management.KeyRecord) bool { return id != "" && k.ID == clean(id) })
	})
}
