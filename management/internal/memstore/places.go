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

// Organization implements management.Tx.
func (t *tx) Organization(id string) (*management.OrganizationRecord, error) {
	o, there := t.organizations[clean(id)]
	if !there {
		return nil, nil
	}
	o = copyOrganization(o)
	return &o, nil
}

// Organizations implements management.Tx.
func (t *tx) Organizations() (out []management.OrganizationRecord, err error) {
	for _, id := range slices.Sorted(maps.Keys(t.organizations)) {
		out = append(out, copyOrganization(t.organizations[id]))
	}
	return out, nil
}

// PutOrganization implements management.Tx.
func (t *tx) PutOrganization(o *management.OrganizationRecord) error {
	if err := t.mayWrite(); err != nil {
		return err
	}
	kept := copyOrganization(*o)
	t.organizations[kept.ID] = kept
	for id, p := range t.projects {
		t.changed[id] = t.changed[id] || p.Organization == kept.ID // its quotas are their limits
	}
	return nil
}

// DeleteOrganization implements management.Tx.
func (t *tx) DeleteOrganization(id string) error {
	left, err := t.Projects(id)
	if err == nil {
		err = t.mayWrite()
	}
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("memstore: the organization %s has %d projects", id, len(left))
	}
	if err == nil {
		delete(t.organizations, clean(id))
	}
	return err
}

func copyProject(p management.ProjectRecord) management.ProjectRecord {
	p.Organization, p.Name, p.APIKey = clean(p.Organization), clean(p.Name), clean(p.APIKey)
	p.Meta, p.Browser, p.Paused, p.Settings = object(p.Meta), bytes.Clone(p.Browser), slices.Clone(p.Paused), maps.Clone(p.Settings)
	for name, raw := range p.Settings {
		p.Settings[name] = json.RawMessage(bytes.Clone(raw))
	}
	return p
}

// Project implements management.Tx.
func (t *tx) Project(id int64) (*management.ProjectRecord, error) {
	p, there := t.projects[id]
	if !there || p.Deleted {
		return nil, nil
	}
	p = copyProject(p)
	return &p, nil
}

// ProjectByKey implements management.Tx.
func (t *tx) ProjectByKey(apiKey string) (*management.ProjectRecord, error) {
	for id, p := range t.projects {
		if p.APIKey == clean(apiKey) {
			return t.Project(id)
		}
	}
	return nil, nil
}

// Projects implements management.Tx.
func (t *tx) Projects(organizationID string) (out []management.ProjectRecord, err error) {
	organizationID = clean(organizationID)
	for _, id := range slices.Sorted(maps.Keys(t.projects)) {
		if p := t.projects[id]; !p.Deleted && (organizationID == "" || p.Organization == organizationID) {
			out = append(out, copyProject(p))
		}
	}
	return out, nil
}

// PutProject implements management.Tx.
func (t *tx) PutProject(p *management.ProjectRecord) error {
	if err := t.mayWrite(); err != nil {
		return err
	}
	var highest int64
	for id, other := range t.projects {
		highest = max(highest, id)
		if id != p.ID && other.APIKey == clean(p.APIKey) {
			return management.ErrTaken
		}
	}
	if p.ID == 0 {
		p.ID = highest + 1
	}
	t.projects[p.ID] = copyProject(*p)
	t.changed[p.ID] = true
	return nil
}

func copyKey(k management.KeyRecord) management.KeyRecord {
	k.ID, k.Label = clean(k.ID), clean(k.Label)
	k.Scopes, k.Projects, k.Organizations = slices.Clone(k.Scopes), slices.Clone(k.Projects), slices.Clone(k.Organizations)
	return k
}

// keysThat are the keys of which a test is true, newest first.
func (t *tx) keysThat(test func(*management.KeyRecord) bool) (out []management.KeyRecord) {
	for _, k := range t.keys {
		if test(&k) {
			out = append(out, copyKey(k))
		}
	}
	slices.SortFunc(out, func(a, b management.KeyRecord) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.Hash, b.Hash))
	})
	return out
}

// Key implements management.Tx.
func (t *tx) Key(hash string) (*management.KeyRecord, error) {
	k, there := t.keys[hash]
	if !there {
		return nil, nil
	}
	k = copyKey(k)
	return &k, nil
}

// KeyByID implements management.Tx.
func (t *tx) KeyByID(id string) (*management.KeyRecord, error) {
	list := t.keysThat(func(k *management.KeyRecord) bool { return id != "" && k.ID == clean(id) })
	if len(list) == 0 {
		return nil, nil
	}
	return &list[0], nil
}

// Keys implements management.Tx.
func (t *tx) Keys(user int64) ([]management.KeyRecord, error) {
	return t.keysThat(func(k *management.KeyRecord) bool { return k.User == user && !k.Secret }), nil
}

// SecretKeys implements management.Tx.
func (t *tx) SecretKeys(projectID int64) ([]management.KeyRecord, error) {
	return t.keysThat(func(k *management.KeyRecord) bool { return k.Secret && slices.Equal(k.Projects, []int64{projectID}) }), nil
}

// PutKey implements management.Tx.
func (t *tx) PutKey(k *management.KeyRecord) error {
	if err := t.DeleteKey(k.ID); err != nil {
		return err
	}
	t.keys[k.Hash] = copyKey(*k)
	return nil
}

// DeleteKey implements management.Tx.
func (t *tx) DeleteKey(id string) error {
	if err := t.mayWrite(); err != nil {
		return err
	}
	maps.DeleteFunc(t.keys, func(_ string, k management.KeyRecord) bool { return id != "" && k.ID == clean(id) })
	return nil
}
