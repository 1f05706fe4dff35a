package organizations

import (
	"context"

	"github.com/bunting-flags/bunting/management"
)

// The labels of a project's secret keys.
const (
	labelSecret       = "secret_api_token"
	labelSecretBackup = "secret_api_token_backup"
)

// secretsOf returns the secret keys of a project, nil if absent: the present one, and the one
// before it, which is valid until it is deleted.
func secretsOf(tx Tx, project int64) (secret, backup *management.KeyRecord, err error) {
	keys, err := tx.SecretKeys(project)
	for i := range keys {
		switch {
		case keys[i].Label == labelSecretBackup:
			backup = &keys[i]
		// Keys of a definitions file have other labels. The first one counts.
		case secret == nil:
			secret = &keys[i]
		}
	}
	return secret, backup, err
}

// ResetToken replaces the project's public key. The old key is invalid from then on.
func (s Projects) ResetToken(ctx context.Context, scope *management.Scope) (*Project, error) {
	return s.asAdmin(ctx, scope, func(_ Tx, p *management.ProjectRecord, _ *management.ProjectMeta) error {
		if p.Origin != "" {
			return errFromFile("project", p.Origin)
		}
		p.APIKey = "phc_" + management.RandomText(32)
		return nil
	})
}

// asAdmin is change for administrators of the project.
func (s Projects) asAdmin(ctx context.Context, scope *management.Scope, work func(tx Tx, p *management.ProjectRecord, meta *management.ProjectMeta) error) (*Project, error) {
	if scope.Access() != management.AdminAccess {
		return nil, errNoProjectAdmin()
	}
	return s.change(ctx, scope, work)
}

// RotateSecret creates a new secret key of the project. The present key becomes the backup, and the
// old backup is deleted. Only this response has the new key in clear.
func (s Projects) RotateSecret(ctx context.Context, scope *management.Scope) (*Project, error) {
	var value string
	out, err := s.asAdmin(ctx, scope, func(tx Tx, p *management.ProjectRecord, _ *management.ProjectMeta) error {
		secret, backup, err := secretsOf(tx, p.ID)
		if err != nil {
			return err
		}
		// The file would recreate the old key at the next start.
		if secret != nil && secret.Origin != "" {
			return errFromFile("key", secret.Origin)
		}
		if backup != nil {
			if err := tx.DeleteKey(backup.ID); err != nil {
				return err
			}
		}
		if secret != nil {
			secret.Label = labelSecretBackup
			if err := tx.PutKey(secret); err != nil {
				return err
			}
		}
		value = "phs_" + management.RandomText(35)
		return tx.PutKey(&management.KeyRecord{
			ID: management.RandomText(24), Hash: management.HashKey(value), Mask: management.MaskKey(value), Label: labelSecret, Secret: true,
			Scopes: []string{}, Projects: []int64{p.ID}, CreatedAt: s.Env.Now(),
		})
	})
	// The stored key has only a hash and a mask, so the response gets the value here.
	if err == nil {
		out.SecretToken = &value
	}
	return out, err
}

// DeleteSecretBackup deletes the secret key from before the last rotation.
func (s Projects) DeleteSecretBackup(ctx context.Context, scope *management.Scope) (*Project, error) {
	return s.asAdmin(ctx, scope, func(tx Tx, p *management.ProjectRecord, _ *management.ProjectMeta) error {
		_, backup, err := secretsOf(tx, p.ID)
		if err != nil || backup == nil {
			return err
		}
		return tx.DeleteKey(backup.ID)
	})
}

// ProjectMoveFields are the fields of Move.
var ProjectMoveFields = management.Fields{{Name: "organization_id", Type: management.UUID, Required: true, Help: "id of the organization to which the project moves"}}

// Move moves the project of the scope to another organization, whose quotas count its usage from
// then on. The caller must be an administrator of both organizations.
func (s Projects) Move(ctx context.Context, scope *management.Scope, b management.Body) (*Project, error) {
	v, err := ProjectMoveFields.Create(b)
	if err != nil {
		return nil, err
	}
	target := v.Text("organization_id")
	// The key must open the target, too, since it could not access the project any more.
	if !scope.IsAdmin() || scope.Caller.Level(target) < management.Admin || !scope.CanOpenOrganization(target) {
		return nil, management.Denied("You must be an admin of both the source and target organizations to move a project.")
	}
	return s.change(ctx, scope, func(_ Tx, p *management.ProjectRecord, _ *management.ProjectMeta) error {
		if p.Origin != "" {
			return errFromFile("project", p.Origin)
		}
		p.Organization = target
		return nil
	})
}
