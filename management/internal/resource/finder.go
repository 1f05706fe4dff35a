package resource

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/bunting-flags/bunting/management"
)

func (r *resource[T, Stored, Out]) Finder() management.Finder {
	// Spec.Load finds deleted objects too if the body restores them.
	includeDeleted := &management.Body{Members: map[string]json.RawMessage{"deleted": json.RawMessage("false")}}
	return func(ctx context.Context, scope *management.Scope, id string) (*management.AccessObject, error) {
		return management.Read(ctx, r.env, func(tx T) (*management.AccessObject, error) {
			x, err := r.load(&View[T]{Tx: tx, Scope: scope}, id, includeDeleted)
			var apiErr *management.Error
			if errors.As(err, &apiErr) && apiErr.Kind == management.NotFound {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			o := r.spec.Object(x)
			if r.spec.Header != nil {
				o.Title = r.spec.Header(scope, x).Title
			}
			return &o, nil
		})
	}
}
