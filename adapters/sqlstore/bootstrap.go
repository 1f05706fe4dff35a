package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// BootstrapResult is what a first start has made. PersonalKey is kept hashed only
// and cannot be shown again.
type BootstrapResult struct {
	OrganizationID string
	ProjectID      int64
	ProjectName    string
	APIKey         string // public
	PersonalKey    string
	OwnerEmail     string
}

// maxLabel is how long the label of a key may be, in characters
// (spec/management.md §1.3).
const maxLabel = 40

// BootstrapConfig says how to bootstrap.
type BootstrapConfig struct {
	OwnerEmail string
	// APIKey is to be the project's; empty: one is made.
	APIKey string
	// PersonalKey is to be the owner's key; empty: one is made.
	PersonalKey string
	// Show brings the key to its owner before it is committed, at most once: a key
	// that nobody could be shown is not made, and neither is anything else, so that the
	// next start is a first one again. It is called while the store is locked. Nil: the
	// caller shows what is returned.
	Show func(*BootstrapResult) error
}

// Bootstrap makes what a server without definitions needs (decision 21): an
// organization, project 1, and a personal key of its owner that opens everything.
// Nil: there is a project already, which another server may have made just now.
func (s *Store) Bootstrap(ctx context.Context, first BootstrapConfig) (*BootstrapResult, error) {
	ownerEmail := first.OwnerEmail
	out := &BootstrapResult{
		OrganizationID: wire.NewUUID7(s.now()).String(),
		ProjectID:      1, ProjectName: "Default project",
		APIKey: cmp.Or(first.APIKey, "phc_"+management.RandomText(32)), PersonalKey: first.PersonalKey,
		OwnerEmail: ownerEmail,
	}
	if out.PersonalKey == "" {
		out.PersonalKey = organizations.NewPersonalKey()
	}
	err := s.inWrite(ctx, func(tx *sql.Tx) error {
		if err := s.lockManagement(ctx, tx); err != nil {
			return err
		}
		var projects int64
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM projects`).Scan(&projects); err != nil {
			return err
		}
		if projects > 0 {
			out = nil
			return nil
		}
		now := micros(s.now())
		if _, err := tx.ExecContext(ctx, `INSERT INTO organizations (id, name, created_at) VALUES ($1, $2, $3)
			ON CONFLICT DO NOTHING`, out.OrganizationID, "Default organization", now); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO projects (id, organization_id, name, api_key, created_at)
			VALUES ($1, $2, $3, $4, $5)`, out.ProjectID, out.OrganizationID, out.ProjectName, out.APIKey, now); err != nil {
			return err
		}
		label := "First key of " + ownerEmail
		label = string([]rune(label)[:min(len([]rune(label)), maxLabel)])
		_, err := tx.ExecContext(ctx, `INSERT INTO api_keys (hash, kind, mask, label, scopes, created_at)
			VALUES ($1, $2, $3, $4, $5, $6)`,
			management.HashKey(out.PersonalKey), PersonalKey, management.MaskKey(out.PersonalKey), label, `["*"]`, now)
		if err != nil || first.Show == nil {
			return err
		}
		return first.Show(out)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// jsonText is a value as it is stored. It is for values that JSON has a form for.
func jsonText(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}
