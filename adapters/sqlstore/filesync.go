package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/bunting-flags/bunting/flags"
)

// noOrganization is the id of the organization for files that do not name one.
const noOrganization = "00000000-0000-0000-0000-000000000000"

// ApplyFile writes the contents of a definitions file to the store in one transaction.
// f is the parsed file and raw its bytes; records are stored with their text from the
// file. origin is the path of the file: objects that came from the same origin before
// and are no longer in the file are deleted softly.
//
// Only differences are written. If definitions of a project differ, its revision
// increases by one. A project that was created through the API becomes a project of the
// file. It is an error if a project belongs to another file, if its id belongs to
// another project, or if a group type has another number in the store.
func (s *Store) ApplyFile(ctx context.Context, origin string, f flags.File, raw []byte) error {
	if origin == "" {
		return errors.New("sqlstore: a definitions file needs a path as its origin")
	}
	projects, err := splitProjects(f, raw)
	if err != nil {
		return fmt.Errorf("%s: %w", origin, err)
	}
	y := &fileSync{store: s, ctx: ctx, origin: origin, organization: f.Organization, keys: f.PersonalKeys, projects: projects}
	return y.run()
}

// ForgetFile softly deletes all objects from a definitions file that is no longer used.
func (s *Store) ForgetFile(ctx context.Context, origin string) error {
	if origin == "" {
		return errors.New("sqlstore: a definitions file needs a path as its origin")
	}
	return (&fileSync{store: s, ctx: ctx, origin: origin}).run()
}

// fileSync is the work of applying one definitions file.
type fileSync struct {
	store        *Store
	ctx          context.Context
	origin       string
	organization flags.Organization
	keys         []flags.PersonalKey // of the organization
	// projects are the projects of the file, empty for ForgetFile.
	projects []fileProject

	tx      *sql.Tx
	changed []int64 // projects whose caches must be invalidated after the commit
}

// run applies the file in a transaction, then reports the changed projects.
func (y *fileSync) run() error {
	err := y.store.inWrite(y.ctx, func(tx *sql.Tx) error {
		y.tx, y.changed = tx, nil
		if err := y.apply(); err != nil {
			return fmt.Errorf("%s: %w", y.origin, err)
		}
		return y.store.notifyServers(y.ctx, tx, y.changed)
	})
	if err != nil {
		return err
	}
	for _, id := range y.changed {
		y.store.people.forgetProject(id)
		y.store.changed(id)
	}
	return nil
}

// exec executes a statement in the transaction.
func (y *fileSync) exec(text string, args ...any) error {
	_, err := y.tx.ExecContext(y.ctx, text, args...)
	return err
}

// apply does the work of run in the transaction. Projects of the file come first, then
// the projects that are no longer in it, then keys, which may refer to both.
func (y *fileSync) apply() error {
	// Before reading: another server may be applying the same file.
	if err := y.store.lockManagement(y.ctx, y.tx); err != nil {
		return err
	}
	stored, err := y.storedProjects()
	if err != nil {
		return err
	}
	if err := y.lock(stored); err != nil {
		return err
	}
	if err := y.saveOrganization(); err != nil {
		return err
	}
	var present []int64
	for i := range y.projects {
		p := &y.projects[i]
		if err := y.saveProject(p, stored); err != nil {
			return fmt.Errorf("project %q: %w", p.APIKey, err)
		}
		present = append(present, p.ID)
	}
	for _, old := range stored {
		if old.origin != y.origin || old.deleted || slices.Contains(present, old.id) {
			continue
		}
		y.changed = append(y.changed, old.id)
		if err := y.exec(`UPDATE projects SET deleted = 1, revision = revision + 1 WHERE id = $1`, old.id); err != nil {
			return err
		}
	}
	return y.saveKeys(stored)
}

// lock acquires the locks of all affected projects in ascending order, which is the
// order of all transactions.
func (y *fileSync) lock(stored []storedProject) error {
	var ids []int64
	for i := range y.projects {
		ids = append(ids, y.projects[i].ID)
	}
	for _, p := range stored {
		if p.origin == y.origin {
			ids = append(ids, p.id)
		}
	}
	slices.Sort(ids)
	t := ledgerTx{store: y.store, ctx: y.ctx, tx: y.tx}
	return t.lock(slices.Compact(ids))
}

// saveOrganization writes the organization of the file. An organization that other
// files contain too must have the same quotas in all of them. Organizations that are no
// longer in the file stay, without an origin.
func (y *fileSync) saveOrganization() error {
	if len(y.projects) == 0 {
		return y.exec(`UPDATE organizations SET origin = '' WHERE origin = $1`, y.origin)
	}
	id, name := cleanText(y.organization.ID), cleanText(y.organization.Name)
	if id == "" {
		id = noOrganization
	}
	if name == "" {
		name = "Default organization"
	}
	quotas := jsonMap(y.organization.Quotas)
	var oldName, oldQuotas, origin string
	err := y.tx.QueryRowContext(y.ctx, `SELECT name, quotas, origin FROM organizations WHERE id = $1`, id).Scan(&oldName, &oldQuotas, &origin)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		if err := y.exec(`INSERT INTO organizations (id, name, quotas, origin, created_at) VALUES ($1, $2, $3, $4, $5)`,
			id, name, quotas, y.origin, micros(y.store.now())); err != nil {
			return err
		}
	case err != nil:
		return err
	case origin != "" && origin != y.origin:
		if len(y.organization.Quotas) > 0 && quotas != oldQuotas {
			return fmt.Errorf("the organization %s stands in %s too, with other quotas: give them in one file only, or the same in both", id, origin)
		}
	case oldName != name || oldQuotas != quotas || origin != y.origin:
		if y.organization.Name == "" {
			name = oldName
		}
		if err := y.exec(`UPDATE organizations SET name = $2, quotas = $3, origin = $4 WHERE id = $1`, id, name, quotas, y.origin); err != nil {
			return err
		}
	}
	y.organization.ID = id
	return y.exec(`UPDATE organizations SET origin = '' WHERE origin = $1 AND id <> $2`, y.origin, id)
}

// storedProject is a row of the table projects.
type storedProject struct {
	id, revision                                         int64
	organization, name, apiKey, settings, paused, origin string
	deleted                                              bool
}

// storedProjects reads all projects, including deleted ones, because their ids and keys
// stay reserved.
func (y *fileSync) storedProjects() ([]storedProject, error) {
	return list(y.ctx, y.tx, func(p *storedProject) []any {
		return []any{&p.id, &p.revision, &p.organization, &p.name, &p.apiKey, &p.settings, &p.paused, &p.origin, &p.deleted}
	}, `SELECT id, revision, organization_id, name, api_key, settings, paused, origin, deleted FROM projects ORDER BY id`)
}

// findProject returns the stored project with the key of p, or nil if p is new. It
// returns an error if the project belongs to another file or if id and key belong to
// two projects.
func (y *fileSync) findProject(p *fileProject, stored []storedProject) (*storedProject, error) {
	for i := range stored {
		old := &stored[i]
		switch {
		case old.apiKey == p.APIKey && old.id != p.ID:
			return nil, fmt.Errorf("its id in the store is %d, not %d: an id cannot change, give that one", old.id, p.ID)
		case old.apiKey == p.APIKey && old.origin != "" && old.origin != y.origin && !old.deleted:
			return nil, fmt.Errorf("it stands in %s too: a project may stand in one file only", old.origin)
		case old.apiKey == p.APIKey:
			return old, nil
		}
	}
	for i := range stored {
		if stored[i].id == p.ID {
			return nil, fmt.Errorf("the id %d is that of the project with the api_key %q: choose another id", p.ID, stored[i].apiKey)
		}
	}
	return nil, nil
}

// saveProject writes a project with its definitions if it differs from the stored one.
func (y *fileSync) saveProject(p *fileProject, stored []storedProject) error {
	old, err := y.findProject(p, stored)
	if err != nil {
		return err
	}
	paused := jsonList(p.QuotaLimited)
	if old == nil {
		y.changed = append(y.changed, p.ID)
		if err := y.exec(`INSERT INTO projects (id, organization_id, name, api_key, settings, paused, origin, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			p.ID, y.organization.ID, p.Name, p.APIKey, p.settings, paused, y.origin, micros(y.store.now())); err != nil {
			return err
		}
		_, err := y.saveDefinitions(p)
		return err
	}
	changed, err := y.saveDefinitions(p)
	if err != nil {
		return err
	}
	changed = changed || old.deleted || old.settings != p.settings
	if !changed && old.organization == y.organization.ID && old.name == p.Name && old.paused == paused && old.origin == y.origin {
		return nil
	}
	// Clients reload definitions if the revision differs, so other changes, such as a
	// new name, leave it as it is.
	increment := 0
	if changed {
		y.changed = append(y.changed, p.ID)
		increment = 1
	}
	return y.exec(`UPDATE projects SET organization_id = $2, name = $3, settings = $4, paused = $5, origin = $6, deleted = 0, revision = revision + $7
		WHERE id = $1`, p.ID, y.organization.ID, p.Name, p.settings, paused, y.origin, increment)
}
