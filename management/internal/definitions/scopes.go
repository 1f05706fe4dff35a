package definitions

import (
	"context"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

// JobView returns a view for a job that a user has started. The job continues in the name of that
// user, even if the user has left the project or was deleted.
func JobView(tx Tx, p *management.ProjectRecord, user int64) (*resource.View[Tx], error) {
	scope, err := records.NewUserScope(tx, user, p)
	if err != nil {
		return nil, err
	}
	if scope == nil {
		u, err := management.UserByNumber(tx, user)
		if err != nil {
			return nil, err
		}
		if u == nil {
			u = &management.User{FirstName: "System"}
		}
		scope = &management.Scope{Caller: &management.Caller{User: u, Key: &management.KeyRecord{}}, Project: p}
	}
	return &resource.View[Tx]{Tx: tx, Scope: scope}, nil
}

// InProject returns the caller's scope in a project of the same organization. It returns nil if the
// organization has no such project. denied is true if the caller has no access to it.
func InProject(ctx context.Context, env *management.Env[Tx], scope *management.Scope, id int64) (target *management.Scope, denied bool, err error) {
	target, err = management.Read(ctx, env, func(tx Tx) (*management.Scope, error) {
		p, err := tx.Project(id)
		if err != nil || p == nil || p.Organization != scope.Organization.ID {
			return nil, err
		}
		if denied = !scope.CanReach(p) || !scope.CanOpenProject(p.ID); denied {
			return nil, nil
		}
		return management.NewScope(tx, scope.Caller, p)
	})
	return target, denied, err
}

// LoadNumbered returns a function that loads the record with the number in the path of a request.
func LoadNumbered[Stored any](kind string) func(v *resource.View[Tx], idText string, _ *management.Body) (*Stored, error) {
	return func(v *resource.View[Tx], idText string, _ *management.Body) (*Stored, error) {
		id, err := records.ResolveNumber(v.Tx, kind, v.Parent(), idText)
		if err != nil || id == "" {
			return nil, err
		}
		return resource.LoadRecord[Stored](v.Tx, kind, v.Parent(), id)
	}
}
