package sqlstore

import (
	"errors"
	"fmt"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/management"
)

// organizations returns the organizations that a condition selects.
func (t *manageTx) organizations(where string, args ...any) ([]management.OrganizationRecord, error) {
	return listRows(t, "reading organizations", func(o *management.OrganizationRecord) []any {
		return []any{&o.ID, &o.Name, database.ScanJSON(&o.Quotas), &o.Origin, database.ScanTime(&o.CreatedAt), database.ScanRawJSON(&o.Meta)}
	}, `SELECT id, name, quotas, origin, created_at, meta FROM organizations `+where, args...)
}

// Organization implements rooms.Tx.
func (t *manageTx) Organization(id string) (*management.OrganizationRecord, error) {
	list, err := t.organizations(`WHERE id = $1`, database.CleanText(id))
	return database.FirstOrNil(list), err
}

// Organizations implements rooms.Tx.
func (t *manageTx) Organizations() ([]management.OrganizationRecord, error) {
	return t.organizations(`ORDER BY id`)
}

// PutOrganization implements rooms.Tx.
func (t *manageTx) PutOrganization(o *management.OrganizationRecord) error {
	quotas := database.JSONMap(o.Quotas)
	if err := t.markQuotasChanged(o.ID, quotas); err != nil {
		return err
	}
	return t.exec("saving an organization", `INSERT INTO organizations (id, name, quotas, origin, created_at, meta) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, quotas = excluded.quotas, origin = excluded.origin, meta = excluded.meta`,
		database.CleanText(o.ID), database.CleanText(o.Name), quotas, o.Origin, database.Micros(o.CreatedAt), database.JSONOrDefault(o.Meta, "{}"))
}

// markQuotasChanged marks the projects of an organization as changed if its quotas are
// about to change, because the evaluation of flags caches the limits by project.
func (t *manageTx) markQuotasChanged(id, quotas string) error {
	var before string
	exists, err := t.queryRow("reading an organization", `SELECT quotas FROM organizations WHERE id = $1`, []any{database.CleanText(id)}, &before)
	if err != nil || !exists || before == quotas {
		return err
	}
	projects, err := t.Projects(id)
	for i := range projects {
		t.markChanged(projects[i].ID)
	}
	return err
}

// DeleteOrganization implements rooms.Tx. It is an error if the organization has
// projects.
func (t *manageTx) DeleteOrganization(id string) error {
	projects, err := t.Projects(id)
	if err != nil {
		return err
	}
	if len(projects) > 0 {
		return fmt.Errorf("deleting the organization %s: it has %d projects", id, len(projects))
	}
	return t.exec("deleting an organization", `DELETE FROM organizations WHERE id = $1`, database.CleanText(id))
}

// projects returns the projects that a condition selects.
func (t *manageTx) projects(where string, args ...any) ([]management.ProjectRecord, error) {
	return listRows(t, "reading projects", func(p *management.ProjectRecord) []any {
		return []any{
			&p.ID, &p.Organization, &p.Name, &p.APIKey, database.ScanJSON(&p.Settings), database.ScanJSON(&p.Paused), &p.AnonymizeIPs, &p.Origin, &p.Deleted,
			database.ScanTime(&p.CreatedAt), database.ScanRawJSON(&p.Meta), database.ScanRawJSON(&p.Browser),
		}
	}, `SELECT id, organization_id, name, api_key, settings, paused, anonymize_ips, origin, deleted, created_at, meta, browser FROM projects `+where, args...)
}

// Project implements rooms.Tx.
func (t *manageTx) Project(id int64) (*management.ProjectRecord, error) {
	list, err := t.projects(`WHERE id = $1 AND deleted = 0`, id)
	return database.FirstOrNil(list), err
}

// ProjectByKey implements rooms.Tx.
func (t *manageTx) ProjectByKey(apiKey string) (*management.ProjectRecord, error) {
	list, err := t.projects(`WHERE api_key = $1 AND deleted = 0`, database.CleanText(apiKey))
	return database.FirstOrNil(list), err
}

// Projects implements rooms.Tx. An empty organizationID selects all projects.
func (t *manageTx) Projects(organizationID string) ([]management.ProjectRecord, error) {
	if organizationID == "" {
		return t.projects(`WHERE deleted = 0 ORDER BY id`)
	}
	return t.projects(`WHERE organization_id = $1 AND deleted = 0 ORDER BY id`, database.CleanText(organizationID))
}

// PutProject implements rooms.Tx. If the id is 0, it assigns one. The error is
// management.ErrDuplicate if another project, including deleted ones, has the same API
// key.
func (t *manageTx) PutProject(p *management.ProjectRecord) error {
	if other, err := t.projects(`WHERE api_key = $1 AND id <> $2`, database.CleanText(p.APIKey), p.ID); err != nil || len(other) > 0 {
		return errors.Join(err, management.ErrDuplicate)
	}
	// Numbered by the greatest id instead of a sequence, because files choose the ids
	// of their projects.
	if p.ID == 0 {
		if _, err := t.queryRow("numbering a project", `SELECT COALESCE(MAX(id), 0) + 1 FROM projects`, nil, &p.ID); err != nil {
			return err
		}
	}
	t.markChanged(p.ID)
	return t.exec("saving a project", `INSERT INTO projects (id, organization_id, name, api_key, settings, paused, anonymize_ips, origin, deleted, created_at, meta, browser)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (id) DO UPDATE SET organization_id = excluded.organization_id, name = excluded.name, api_key = excluded.api_key,
		settings = excluded.settings, paused = excluded.paused, anonymize_ips = excluded.anonymize_ips, origin = excluded.origin,
		deleted = excluded.deleted, meta = excluded.meta, browser = excluded.browser`,
		p.ID, database.CleanText(p.Organization), database.CleanText(p.Name), database.CleanText(p.APIKey), database.JSONMap(p.Settings), database.JSONList(p.Paused), database.BoolToInt(p.AnonymizeIPs),
		p.Origin, database.BoolToInt(p.Deleted), database.Micros(p.CreatedAt), database.JSONOrDefault(p.Meta, "{}"), database.JSONOrDefault(p.Browser, ""))
}

// keys returns the personal and secret keys that a condition selects.
func (t *manageTx) keys(where string, args ...any) ([]management.KeyRecord, error) {
	return listRows(t, "reading keys", func(k *management.KeyRecord) []any {
		return []any{
			&k.ID, &k.Hash, &k.Secret, &k.Mask, &k.Label, database.ScanJSON(&k.Scopes), database.ScanJSON(&k.Projects), database.ScanJSON(&k.Organizations), &k.User, &k.Origin,
			database.ScanTime(&k.CreatedAt), database.ScanOptionalTime(&k.LastUsedAt), database.ScanOptionalTime(&k.LastRolledAt),
		}
	}, `SELECT id, hash, kind = 'secret', mask, label, scopes, projects, organizations, user_id, origin, created_at, last_used_at, last_rolled_at FROM api_keys `+where, args...)
}

// Key implements rooms.Tx.
func (t *manageTx) Key(hash string) (*management.KeyRecord, error) {
	list, err := t.keys(`WHERE hash = $1`, hash)
	return database.FirstOrNil(list), err
}

// KeyByID implements rooms.Tx. Keys from files have no id.
func (t *manageTx) KeyByID(id string) (*management.KeyRecord, error) {
	if id == "" {
		return nil, nil
	}
	list, err := t.keys(`WHERE id = $1`, database.CleanText(id))
	return database.FirstOrNil(list), err
}

// Keys implements rooms.Tx. The newest key is first.
func (t *manageTx) Keys(user int64) ([]management.KeyRecord, error) {
	return t.keys(`WHERE user_id = $1 AND kind = 'personal' ORDER BY created_at DESC, hash`, user)
}

// SecretKeys implements rooms.Tx. The newest key is first.
func (t *manageTx) SecretKeys(projectID int64) (out []management.KeyRecord, err error) {
	return t.keys(`WHERE kind = 'secret' AND projects = $1 ORDER BY created_at DESC, hash`, database.JSONText([]int64{projectID}))
}

// PutKey implements rooms.Tx. The hash is the primary key of the table, so the row with
// the former hash of a rolled key is deleted.
func (t *manageTx) PutKey(k *management.KeyRecord) error {
	if k.ID != "" {
		if err := t.exec("saving a key", `DELETE FROM api_keys WHERE id = $1 AND hash <> $2`, database.CleanText(k.ID), k.Hash); err != nil {
			return err
		}
	}
	kind := personalKey
	if k.Secret {
		kind = secretKey
	}
	return t.exec("saving a key", `INSERT INTO api_keys (hash, kind, mask, label, scopes, projects, organizations, user_id, origin, created_at, last_used_at, last_rolled_at, id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
		ON CONFLICT (hash) DO UPDATE SET kind = excluded.kind, mask = excluded.mask, label = excluded.label, scopes = excluded.scopes,
		projects = excluded.projects, organizations = excluded.organizations, user_id = excluded.user_id, origin = excluded.origin,
		last_used_at = excluded.last_used_at, last_rolled_at = excluded.last_rolled_at, id = excluded.id`,
		k.Hash, string(kind), k.Mask, database.CleanText(k.Label), database.JSONText(k.Scopes), database.JSONList(k.Projects), database.JSONList(k.Organizations),
		k.User, k.Origin, database.Micros(k.CreatedAt), database.OptionalMicros(k.LastUsedAt), database.OptionalMicros(k.LastRolledAt), database.CleanText(k.ID))
}

// DeleteKey implements rooms.Tx.
func (t *manageTx) DeleteKey(id string) error {
	if id == "" {
		return nil
	}
	return t.exec("deleting a key", `DELETE FROM api_keys WHERE id = $1`, database.CleanText(id))
}
