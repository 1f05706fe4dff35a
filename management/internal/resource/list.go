package resource

import (
	"context"

	"github.com/bunting-flags/bunting/management"
)

func (r *resource[T, Stored, Out]) List(ctx context.Context, scope *management.Scope, p management.Page) (management.List[Out], error) {
	if r.spec.All == nil {
		return r.Query(ctx, scope, management.Query{Offset: p.Offset, Limit: p.Limit})
	}
	return management.Read(ctx, r.env, func(tx T) (management.List[Out], error) {
		v := &View[T]{Tx: tx, Scope: scope}
		all, err := r.spec.All(v)
		if err != nil {
			return management.List[Out]{}, err
		}
		page := all[min(p.Offset, len(all)):]
		if p.Limit > 0 {
			page = page[:min(p.Limit, len(page))]
		}
		return r.Rows(v, management.List[Stored]{Count: len(all), Results: page})
	})
}

func (r *resource[T, Stored, Out]) Query(ctx context.Context, scope *management.Scope, q management.Query) (management.List[Out], error) {
	q.Kind, q.Descending = r.spec.Kind, r.spec.NewestFirst
	if q.Parent == "" && q.Other == "" {
		q.Parent = r.spec.Parent(scope)
	}
	if r.spec.Object != nil && scope.IsRestricted() {
		q.Match = r.filterVisible(scope, q.Match)
	}
	return management.Read(ctx, r.env, func(tx T) (management.List[Out], error) {
		list, err := management.ListRecords[Stored](tx, q)
		if err != nil {
			return management.List[Out]{}, err
		}
		return r.Rows(&View[T]{Tx: tx, Scope: scope}, list)
	})
}

// filterVisible extends match so that objects that rules hide from the caller do not match.
func (r *resource[T, Stored, Out]) filterVisible(scope *management.Scope, match func(*management.Record) bool) func(*management.Record) bool {
	return func(record *management.Record) bool {
		x, err := management.Decode[Stored](record)
		return (err != nil || scope.CanSee(r.spec.Object(x))) && (match == nil || match(record))
	}
}

func (r *resource[T, Stored, Out]) Rows(v *View[T], list management.List[Stored]) (management.List[Out], error) {
	out := management.List[Out]{Count: list.Count, Results: make([]Out, 0, len(list.Results))}
	for i := range list.Results {
		view, err := r.spec.Row(v, &list.Results[i])
		if err != nil {
			return management.List[Out]{}, err
		}
		out.Results = append(out.Results, *view)
	}
	return out, nil
}
