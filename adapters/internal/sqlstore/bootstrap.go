package sqlstore

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// BootstrapResult is the result of a first start. Only the hash of PersonalKey is
// stored, so it cannot be displayed later.
type BootstrapResult struct {
	OrganizationID string
	ProjectID      int64
	ProjectName    string
	APIKey         string // the project's public key for SDKs
	PersonalKey    string
	OwnerEmail     string
}

// maxLabel is the maximum length of the label of a key, in characters
// (spec/management.md §1.3).
const maxLabel = 40

// BootstrapConfig configures Bootstrap.
type BootstrapConfig struct {
	// OwnerEmail is the address for the label of the personal key.
	OwnerEmail string
	// APIKey is the key of the project. If empty, a key is generated.
	APIKey string
	// PersonalKey is the key of the owner. If empty, a key is generated.
	PersonalKey string
	// Show delivers the key to its owner before the commit. It is called at most one
	// time, while the store is locked. If it returns an error, all changes are rolled
	// back, so that the next start is a first start too and no key exists that its
	// owner has not seen. If nil, the caller displays the result.
	Show func(*BootstrapResult) error
}

// Bootstrap creates the objects that a server without definitions needs (decision 21):
// an organization, project 1, and a personal key of its owner with all scopes. It
// returns nil without an error if a project exists, which another server may have
// created at the same time.
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
	err := s.db.InWrite(ctx, func(tx *sql.Tx) error {
		if err := s.lockManagement(ctx, tx); err != nil {
			return err
		}
		// Deleted projects count too: a server that had projects before is not new.
		var projects int64
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM projects`).Scan(&projects); err != nil {
			return err
		}
		if projects > 0 {
			out = nil
			return nil
		}
		now := database.Micros(s.now())
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
			management.HashKey(out.PersonalKey), personalKey, management.MaskKey(out.PersonalKey), label, `["*"]`, now)
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
