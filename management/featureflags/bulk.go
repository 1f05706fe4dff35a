package featureflags

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// MatchingIDs lists the flags that match a query and that the caller may edit (spec/clients.md
// §7.3).
type MatchingIDs struct {
	// IDs are in the order of the query, and Total is their number.
	IDs   []int64 `json:"ids"`
	Total int     `json:"total"`
}

// MatchingIDs returns the ids of the flags on all pages of a query. Flags of definitions files are
// not included, since they cannot be edited.
func (s Flags) MatchingIDs(ctx context.Context, scope *management.Scope, q FlagQuery) (*MatchingIDs, error) {
	return management.Read(ctx, &s.Env, func(tx storeTx) (*MatchingIDs, error) {
		out := &MatchingIDs{IDs: []int64{}}
		all, err := s.selectMatching(tx, scope, &q)
		for _, f := range all {
			if f.Origin == "" && scope.AccessTo(f.AccessObject()).Allows(management.Editor) {
				out.IDs = append(out.IDs, f.ID)
			}
		}
		out.Total = len(out.IDs)
		return out, err
	})
}

// bulkDeleteFields are the fields of the request that deletes flags. Exactly one of them is
// required.
var bulkDeleteFields = management.Fields{
	{Name: "ids", Type: management.Array, Null: true, Help: "ids of flags, at most 1,000"},
	{Name: "filters", Type: management.Object, Null: true, Help: "parameters of the list of flags; all matching flags are deleted"},
}

// maxBulk limits the flags that one request may delete or tag.
const maxBulk = 1000

// namedInBulk is the number of dependents that the reason for a flag names (spec/clients.md §7.3).
const namedInBulk = 3

// Error implements error.
func (e PlainError) Error() string { return string(e) }

// BulkDeleteResult is the result of BulkDelete.
type BulkDeleteResult struct {
	// Deleted lists the deleted flags, and Errors the flags that were not deleted.
	Deleted []deletedFlag `json:"deleted"`
	Errors  []skippedFlag `json:"errors"`
}

// deletedFlag describes a flag in its state before the deletion.
type deletedFlag struct {
	// ID and Key are those of the flag; the key is free for a new flag after the deletion.
	ID      int64   `json:"id"`
	Key     string  `json:"key"`
	State   string  `json:"rollout_state"`  // one of fully_rolled_out, not_rolled_out and partial
	Variant *string `json:"active_variant"` // the variant that every subject received; null if they differed
}

// skippedFlag is a flag that was not changed, with the reason. ID is the value that was sent.
type skippedFlag struct {
	ID json.RawMessage `json:"id"`
	// Key is empty if the flag was not found.
	Key string `json:"key,omitempty"`
	// Reason is a sentence for people.
	Reason string `json:"reason"`
}

// BulkDelete deletes flags, each in its own transaction. A flag that cannot be deleted does not
// prevent the deletion of the rest. Flags that depend on other flags of the request are deleted
// before these. parse converts the member filters of the body to a query.
func (s Flags) BulkDelete(ctx context.Context, scope *management.Scope, b management.Body, parse func(json.RawMessage) (FlagQuery, error)) (*BulkDeleteResult, error) {
	v, err := bulkDeleteFields.Change(b)
	if err != nil {
		return nil, err
	}
	ids, filters := v.Raw("ids"), v.Raw("filters")
	switch {
	case ids != nil && filters != nil:
		return nil, PlainError("Provide either filters or ids, not both")
	case ids == nil && filters == nil:
		return nil, PlainError("Must provide either filters or ids")
	case filters != nil:
		q, err := parse(filters)
		if err != nil {
			return nil, err
		}
		found, err := s.MatchingIDs(ctx, scope, q)
		if err != nil {
			return nil, err
		}
		ids = storage.Encode(found.IDs)
	}
	list, err := management.Items(&management.Field{Name: "ids"}, ids, "list")
	if err != nil {
		return nil, err
	}
	// A query can match more flags than a request may delete, so check the limit after it.
	if len(list) > maxBulk {
		return nil, management.CodedFault(management.CodeMaxLength, "ids", "At most %d feature flags can be deleted at once, not %d.", maxBulk, len(list))
	}
	return s.deleteAll(ctx, scope, list)
}

// deleteAll deletes flags. A flag cannot be deleted while another flag depends on it, so deleteAll
// repeats the pass over the remaining flags until a pass deletes no flag.
func (s Flags) deleteAll(ctx context.Context, scope *management.Scope, ids []json.RawMessage) (*BulkDeleteResult, error) {
	out := &BulkDeleteResult{Deleted: []deletedFlag{}}
	// done is the number of deleted flags before the current pass.
	for done := -1; len(out.Deleted) > done; {
		done, out.Errors = len(out.Deleted), []skippedFlag{}
		var pending []json.RawMessage
		for _, raw := range ids {
			summary, err := s.deleteOne(ctx, scope, raw)
			var fault *management.Error
			switch {
			case err == nil:
				out.Deleted = append(out.Deleted, *summary)
				continue
			case !errors.As(err, &fault):
				return nil, err
			}
			skipped := skippedFlag{ID: raw, Reason: fault.Message}
			if summary != nil {
				skipped.Key = summary.Key
			}
			out.Errors, pending = append(out.Errors, skipped), append(pending, raw)
		}
		ids = pending
	}
	return out, nil
}

// deleteOne deletes a flag and returns its state before the deletion. If the flag exists but cannot
// be deleted, it returns both the state and an error.
func (s Flags) deleteOne(ctx context.Context, scope *management.Scope, raw json.RawMessage) (*deletedFlag, error) {
	id, ok := plain.Integer(raw, management.JSONKind(raw))
	if !ok {
		return nil, management.Fault("", "Invalid flag ID format")
	}
	// Read the state first: it is part of the result even if the deletion fails.
	summary, err := management.Read(ctx, &s.Env, func(tx storeTx) (*deletedFlag, error) {
		f, err := s.stored.Load(tx, scope, id)
		var missing *management.Error
		if errors.As(err, &missing) && missing.Kind == management.NotFound || err == nil && (f.Deleted || !scope.CanSee(f.AccessObject())) {
			return nil, management.Fault("", "Flag not found")
		}
		if err != nil {
			return nil, err
		}
		return deletedState(f), nil
	})
	if err != nil {
		return nil, err
	}
	_, err = resource.RunAction(ctx, s.flags, scope, pathOf(id), func(e *resource.Edit[storeTx, storedflags.Flag]) error {
		e.After.Deleted, e.After.Named = true, namedInBulk
		return nil
	})
	return summary, err
}

// deletedState returns the rollout state of a flag.
func deletedState(f *storedflags.Flag) *deletedFlag {
	out := &deletedFlag{ID: f.ID, Key: f.Key, State: "partial"}
	value, text := constantValue(f.Shape())
	variant, isVariant := value.(string)
	switch {
	case !f.Active, value == false:
		out.State = "not_rolled_out"
	case text != "":
		out.State = "fully_rolled_out"
		if isVariant {
			out.Variant = &variant
		}
	}
	return out
}
