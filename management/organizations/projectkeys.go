package organizations

import (
	"context"
	"strings"

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

// NewProjectFields are the fields of a new project. Unlike ProjectFields, they include the
// project's key, which cannot be changed to a chosen value later.
var NewProjectFields = append(ProjectFields[:len(ProjectFields):len(ProjectFields)], tokenField...)

// maxToken is the greatest length of a project's key, which is that of capture (§3.6 of capture).
const maxToken = 64

// tokenField is the field with the key of a new project.
var tokenField = management.Fields{{
	Name: "api_token", Type: management.Text, Null: true, MaxLength: maxToken,
	Help: "public key of the project, to keep the key of a project that moves to this server: letters, digits, - and _; generated by default; only owners may set it",
}}

// readToken returns the key that the body of a new project contains, or "" if it is absent. Only
// owners may choose a key. A key that another project or user has is refused, also that of a
// deleted project.
func readToken(tx Tx, level management.Level, b management.Body) (string, error) {
	v, err := tokenField.Create(b)
	if err != nil {
		return "", err
	}
	token := v.Text("api_token")
	switch {
	case token == "":
		return "", nil
	case level < management.Owner:
		return "", management.Denied("Only an owner of the organization can choose a project's api_token.")
	case strings.Trim(token, tokenAlphabet) != "":
		return "", management.Fault("api_token", "A project's key may only have letters, digits, - and _.")
	case strings.HasPrefix(token, "phx_"), strings.HasPrefix(token, "phs_"):
		return "", management.Fault("api_token", "A project's key is public and must not begin with %s, as personal and secret keys do.", token[:4])
	}
	key, err := tx.Key(management.HashKey(token))
	if err == nil && key != nil {
		err = errDuplicateToken()
	}
	return token, err
}

// tokenAlphabet has the characters that a project's key may contain.
const tokenAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// errDuplicateToken is the error for a key that is in use or was used by a deleted project.
func errDuplicateToken() error {
	return management.CodedFault(management.CodeUnique, "api_token", "Another project uses or has used this key.")
}
