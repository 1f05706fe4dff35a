package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/people"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/files"
)

// ApplyFile writes the contents of a definitions file to the store in one transaction.
// f is the parsed file and raw its bytes; records are stored with their text from the
// file. origin is the path of the file: objects that came from the same origin before
// and are no longer in the file are deleted softly.
//
// Only differences are written. If definitions of a project differ, its revision
// increases by one. Package files has the rules.
func (s *Store) ApplyFile(ctx context.Context, origin string, f flags.File, raw []byte) error {
	file, err := files.Parse(f, raw)
	if err != nil {
		return fmt.Errorf("%s: %w", origin, err)
	}
	return s.applyFile(ctx, origin, file)
}

// ForgetFile softly deletes all objects from a definitions file that is no longer used.
func (s *Store) ForgetFile(ctx context.Context, origin string) error {
	return s.applyFile(ctx, origin, &files.File{})
}

// applyFile applies a file in a transaction, then reports the changed projects.
func (s *Store) applyFile(ctx context.Context, origin string, f *files.File) error {
	if origin == "" {
		return errors.New("sqlstore: a definitions file needs a path as its origin")
	}
	var changed []int64
	err := s.db.InWrite(ctx, func(tx *sql.Tx) (err error) {
		// Before reading: another server may be applying the same file.
		if err := s.lockManagement(ctx, tx); err != nil {
			return err
		}
		if changed, err = files.Apply(&fileTx{store: s, ctx: ctx, tx: tx}, origin, f); err != nil {
			return fmt.Errorf("%s: %w", origin, err)
		}
		return s.notifyServers(ctx, tx, changed)
	})
	if err != nil {
		return err
	}
	for _, id := range changed {
		s.people.ForgetProject(id)
		s.changed(id)
	}
	return nil
}

// fileTx implements files.Tx.
type fileTx struct {
	store *Store
	ctx   context.Context
	tx    *sql.Tx
}

// exec executes a statement in the transaction.
func (t *fileTx) exec(text string, args ...any) error {
	_, err := t.tx.ExecContext(t.ctx, text, args...)
	return err
}

// Text implements files.Tx, as do the methods below.
func (t *fileTx) Text(s string) string { return database.CleanText(s) }

func (t *fileTx) Organization(id string) (*files.Organization, error) {
	found, err := database.List(t.ctx, t.tx, func(o *files.Organization) []any { return []any{&o.ID, &o.Name, &o.Quotas, &o.Origin} },
		`SELECT id, name, quotas, origin FROM organizations WHERE id = $1`, id)
	return database.FirstOrNil(found), err
}

func (t *fileTx) PutOrganization(o *files.Organization) error {
	return t.exec(`INSERT INTO organizations (id, name, quotas, origin, created_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, quotas = excluded.quotas, origin = excluded.origin`,
		o.ID, o.Name, o.Quotas, o.Origin, database.Micros(t.store.now()))
}

func (t *fileTx) ReleaseOrganizations(origin, except string) error {
	return t.exec(`UPDATE organizations SET origin = '' WHERE origin = $1 AND id <> $2`, origin, except)
}

func (t *fileTx) Projects() ([]files.Project, error) {
	return database.List(t.ctx, t.tx, func(p *files.Project) []any {
		return []any{&p.ID, &p.Organization, &p.Name, &p.APIKey, &p.Settings, database.ScanJSON(&p.Paused), &p.Origin, &p.Deleted}
	}, `SELECT id, organization_id, name, api_key, settings, paused, origin, deleted FROM projects ORDER BY id`)
}

func (t *fileTx) Lock(ids []int64) error {
	return t.store.db.LockProjects(t.ctx, t.tx, ids)
}

func (t *fileTx) PutProject(p *files.Project, newRevision bool) error {
	return t.exec(`INSERT INTO projects (id, organization_id, name, api_key, settings, paused, origin, deleted, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (id) DO UPDATE SET organization_id = excluded.organization_id, name = excluded.name, settings = excluded.settings,
			paused = excluded.paused, origin = excluded.origin, deleted = excluded.deleted, revision = projects.revision + $10`,
		p.ID, p.Organization, p.Name, p.APIKey, p.Settings, database.JSONList(p.Paused), p.Origin, database.BoolToInt(p.Deleted), database.Micros(t.store.now()), database.BoolToInt(newRevision))
}

func (t *fileTx) GroupTypes(project int64) ([]string, error) {
	return people.ReadGroupTypes(t.ctx, t.tx, project)
}

func (t *fileTx) AddGroupType(project int64, number int, name string) error {
	return t.exec(`INSERT INTO group_types (project_id, type_index, name, created_at) VALUES ($1, $2, $3, $4)`,
		project, number, name, database.Micros(t.store.now()))
}

func (t *fileTx) Records(kind management.DefinitionKind, project int64) (map[int64]files.Record, error) {
	out := map[int64]files.Record{}
	d := definitionTables[kind]
	err := database.Query(t.ctx, t.tx, func(rows *sql.Rows) error {
		var id int64
		var r files.Record
		err := rows.Scan(&id, &r.Key, &r.Text, &r.Origin, &r.Deleted)
		out[id] = r
		return err
	}, `SELECT id, `+d.key+`, record, origin, deleted FROM `+d.table+` WHERE project_id = $1`, project)
	return out, err
}

func (t *fileTx) PutRecord(kind management.DefinitionKind, project, id int64, r files.Record) error {
	if kind == management.CohortDefinition {
		return t.exec(`INSERT INTO cohort_records (project_id, id, record, origin) VALUES ($1, $2, $3, $4)
			ON CONFLICT (project_id, id) DO UPDATE SET record = excluded.record, origin = excluded.origin, deleted = 0`,
			project, id, r.Text, r.Origin)
	}
	return t.exec(`INSERT INTO flag_records (project_id, id, key, record, origin) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (project_id, id) DO UPDATE SET key = excluded.key, record = excluded.record, origin = excluded.origin, deleted = 0`,
		project, id, r.Key, r.Text, r.Origin)
}

func (t *fileTx) DeleteRecord(kind management.DefinitionKind, project, id int64) error {
	err := t.exec(`UPDATE `+definitionTables[kind].table+` SET deleted = 1 WHERE project_id = $1 AND id = $2`, project, id)
	if err != nil || kind != management.CohortDefinition {
		return err
	}
	return t.exec(`DELETE FROM cohort_members WHERE project_id = $1 AND cohort_id = $2`, project, id)
}

func (t *fileTx) SetMembers(project, cohort int64, distinctIDs []string) (changed bool, err error) {
	stored, err := database.Column[string](t.ctx, t.tx, `SELECT distinct_id FROM cohort_members WHERE project_id = $1 AND cohort_id = $2`, project, cohort)
	if err != nil {
		return false, err
	}
	members := make(map[string]bool, len(distinctIDs))
	for _, id := range distinctIDs {
		members[capture.StoredDistinctID(id)] = true
	}
	removed := slices.DeleteFunc(slices.Clone(stored), func(id string) bool { return members[id] })
	for _, id := range stored {
		delete(members, id)
	}
	added := make([]string, 0, len(members))
	for id := range members {
		added = append(added, id)
	}
	slices.Sort(added)
	err = insertMembers.Run(&t.store.db.Dialect, nil, len(added), func(args []any, i int) []any { return append(args, project, added[i], cohort) }, t.exec)
	if err != nil {
		return false, err
	}
	err = deleteMembers.Run(&t.store.db.Dialect, []any{project, cohort}, len(removed), func(args []any, i int) []any { return append(args, removed[i]) }, t.exec)
	return len(added)+len(removed) > 0, err
}

// fileKeys selects keys with the columns that keyOfFile scans.
const fileKeys = `SELECT hash, mask, kind = 'secret', scopes, projects, organizations, origin FROM api_keys WHERE `

func keyOfFile(k *files.Key) []any {
	return []any{&k.Hash, &k.Mask, &k.Secret, database.ScanJSON(&k.Scopes), database.ScanJSON(&k.Projects), database.ScanJSON(&k.Organizations), &k.Origin}
}

func (t *fileTx) Keys() ([]files.Key, error) {
	return database.List(t.ctx, t.tx, keyOfFile, fileKeys+`origin <> ''`)
}

func (t *fileTx) Key(hash string) (*files.Key, error) {
	found, err := database.List(t.ctx, t.tx, keyOfFile, fileKeys+`hash = $1`, hash)
	return database.FirstOrNil(found), err
}

func (t *fileTx) PutKey(k *files.Key) error {
	kind := personalKey
	if k.Secret {
		kind = secretKey
	}
	return t.exec(`INSERT INTO api_keys (hash, kind, mask, scopes, projects, organizations, origin, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (hash) DO UPDATE SET kind = excluded.kind, mask = excluded.mask, scopes = excluded.scopes, projects = excluded.projects,
			organizations = excluded.organizations, origin = excluded.origin, user_id = CASE WHEN $9 = 1 THEN 0 ELSE api_keys.user_id END`,
		k.Hash, kind, k.Mask, database.JSONList(k.Scopes), database.JSONList(k.Projects), database.JSONList(k.Organizations), k.Origin, database.Micros(t.store.now()), database.BoolToInt(k.WithoutUser))
}

func (t *fileTx) DeleteKey(hash string) error {
	return t.exec(`DELETE FROM api_keys WHERE hash = $1`, hash)
}

var _ files.Tx = (*fileTx)(nil)
