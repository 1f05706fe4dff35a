package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// keyKind is the kind of an API key.
type keyKind string

// The kinds of keys of which only the hash is stored.
const (
	personalKey keyKind = "personal"
	secretKey   keyKind = "secret"
)

// storedKey describes the access of a personal or secret key.
type storedKey struct {
	Secret bool // otherwise it is a personal key
	Label  string
	Scopes []string // of a personal key; "*" means all scopes
	// Projects are the projects that the key has access to, ordered by id.
	Projects []keyProject
}

// keyProject is a project that a key has access to.
type keyProject struct {
	ID     int64
	APIKey string
}

// Key returns the record of a personal or secret key, which is found by its hash. The
// error is flags.ErrUnknownKey if there is none. A secret key whose project was deleted
// is unknown too.
func (s *Store) Key(ctx context.Context, key string) (storedKey, error) {
	var k storedKey
	var kind keyKind
	var ids []int64
	var organizations []string
	err := s.db.LookUp(ctx, database.LookupTime, func(ctx context.Context) error {
		return s.db.Quick.QueryRowContext(ctx, `SELECT kind, label, scopes, projects, organizations FROM api_keys WHERE hash = $1`, management.HashKey(key)).
			Scan(&kind, &k.Label, database.ScanJSON(&k.Scopes), database.ScanJSON(&ids), database.ScanJSON(&organizations))
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return storedKey{}, flags.ErrUnknownKey
	case err != nil:
		return storedKey{}, fmt.Errorf("looking for a key: %w", s.db.Dialect.Explain(err))
	}
	k.Secret = kind == secretKey
	all, err := s.Projects(ctx)
	if err != nil {
		return storedKey{}, err
	}
	// An empty list does not restrict the access, so a personal key without lists has
	// access to all projects.
	for _, p := range all {
		if (len(ids) == 0 || slices.Contains(ids, p.ID)) && (len(organizations) == 0 || slices.Contains(organizations, p.OrganizationID)) {
			k.Projects = append(k.Projects, keyProject{p.ID, p.APIKey})
		}
	}
	if len(k.Projects) == 0 && k.Secret {
		return storedKey{}, flags.ErrUnknownKey
	}
	return k, nil
}

// Projects returns the projects ordered by id, with only their names, API keys and
// organizations.
func (s *Store) Projects(ctx context.Context) (out []flags.Project, err error) {
	err = s.db.LookUp(ctx, database.LookupTime, func(ctx context.Context) error {
		out, err = database.List(ctx, s.db.Quick, func(p *flags.Project) []any { return []any{&p.ID, &p.Name, &p.APIKey, &p.OrganizationID} }, `SELECT id, name, api_key, organization_id FROM projects WHERE deleted = 0 ORDER BY id`)
		return err
	})
	return out, database.WrapError("listing projects", s.db.Dialect.Explain(err))
}

// CaptureKeys returns the keys of the intake.
func (s *Store) CaptureKeys() captureKeys { return captureKeys{s} }

// captureKeys implements capture.Keys on a Store.
type captureKeys struct{ *Store }

// Project implements capture.Keys.
func (k captureKeys) Project(ctx context.Context, token string) (capture.Project, error) {
	return k.projectByToken(ctx, token)
}

// captureProject selects a project with its limits. A condition must follow.
const captureProject = `SELECT p.id, p.api_key, p.organization_id, p.paused, p.anonymize_ips, o.quotas
	FROM projects p LEFT JOIN organizations o ON o.id = p.organization_id WHERE p.deleted = 0 AND `

// projectByToken returns the project of a public key or a secret key. The error is
// capture.ErrUnknownKey if there is none.
func (s *Store) projectByToken(ctx context.Context, token string) (capture.Project, error) {
	if token == "" || strings.IndexByte(token, 0) >= 0 {
		return capture.Project{}, capture.ErrUnknownKey
	}
	p, err := s.captureProject(ctx, captureProject+"p.api_key = $1", token)
	if !errors.Is(err, capture.ErrUnknownKey) {
		return p, err
	}
	k, err := s.Key(ctx, token)
	switch {
	case errors.Is(err, flags.ErrUnknownKey), err == nil && (!k.Secret || len(k.Projects) != 1):
		return capture.Project{}, capture.ErrUnknownKey
	case err != nil:
		return capture.Project{}, err
	}
	p, err = s.captureProject(ctx, captureProject+"p.id = $1", k.Projects[0].ID)
	p.Secret = err == nil
	return p, err
}

// captureProject reads the project of a query that begins with the constant
// captureProject.
func (s *Store) captureProject(ctx context.Context, text string, arg any) (capture.Project, error) {
	var p capture.Project
	var paused string
	var quotas sql.NullString
	err := s.db.LookUp(ctx, database.LookupTime, func(ctx context.Context) error {
		return s.db.Quick.QueryRowContext(ctx, text, arg).Scan(&p.ID, &p.APIKey, &p.OrganizationID, &paused, &p.AnonymizeIPs, &quotas)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return capture.Project{}, capture.ErrUnknownKey
	case err != nil:
		return capture.Project{}, fmt.Errorf("looking for a project: %w", s.db.Dialect.Explain(err))
	}
	limits, err := readQuotas(quotas.String)
	if err == nil {
		err = json.Unmarshal([]byte(paused), &p.Paused)
	}
	if err != nil {
		return capture.Project{}, fmt.Errorf("project %d: quotas: %w", p.ID, err)
	}
	for resource, limit := range limits {
		if p.Limits == nil {
			p.Limits = make(map[capture.Resource]int64, len(limits))
		}
		p.Limits[capture.Resource(resource)] = limit
	}
	return p, nil
}

var _ capture.Keys = captureKeys{}
