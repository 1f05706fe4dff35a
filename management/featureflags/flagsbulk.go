package featureflags

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/bunting-flags/bunting/management"
)

// MatchingIDs are the flags of a query that the caller may edit (spec/clients.md §7.3).
type MatchingIDs struct {
	IDs   []int64 `json:"ids"`
	Total int     `json:"total"`
}

// MatchingIDs finds the flags of a query, all of its pages.
func (s Flags) MatchingIDs(ctx context.Context, scope *management.Scope, q FlagQuery) (*MatchingIDs, error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (*MatchingIDs, error) {
		out := &MatchingIDs{IDs: []int64{}}
		all, err := s.selectMatching(tx, scope, &q)
		for _, f := range all {
			if f.Origin == "" && scope.AccessTo(f.accessObject()).Allows(management.Editor) {
				out.IDs = append(out.IDs, f.ID)
			}
		}
		out.Total = len(out.IDs)
		return out, err
	})
}

// BulkDeleteFields are those of the body that deletes flags. Either is there.
var BulkDeleteFields = management.Fields{
	{Name: "ids", Type: management.Array, Null: true, Help: "ids of flags, at most 1,000"},
	{Name: "filters", Type: management.Object, Null: true, Help: "parameters of the list of flags: all that match are deleted"},
}

// maxBulk is how many flags one request may delete.
const maxBulk = 1000

// PlainError is a refusal that the API tells in a form of its own: {"error": text}.
type PlainError string

// Error implements error.
func (e PlainError) Error() string { return string(e) }

// BulkDeleteResult says what became of flags that were to be deleted.
type BulkDeleteResult struct {
	Deleted []deletedFlag `json:"deleted"`
	Errors  []skippedFlag `json:"errors"`
}

// deletedFlag is what a flag was when it was deleted.
type deletedFlag struct {
	ID      int64   `json:"id"`
	Key     string  `json:"key"`
	State   string  `json:"rollout_state"`  // fully_rolled_out, not_rolled_out, partial
	Variant *string `json:"active_variant"` // that everybody got, null for none
}

// skippedFlag is one that is still there, and why. The id is what was sent.
type skippedFlag struct {
	ID     json.RawMessage `json:"id"`
	Key    string          `json:"key,omitempty"`
	Reason string          `json:"reason"`
}

// BulkDelete deletes flags one by one, those that depend on others of them first: what
// is refused keeps no other. read makes a query of filters.
func (s Flags) BulkDelete(ctx context.Context, scope *management.Scope, b management.Body, parse func(json.RawMessage) (FlagQuery, error)) (*BulkDeleteResult, error) {
	v, err := BulkDeleteFields.Change(b)
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
		ids = management.Encode(found.IDs)
	}
	list, err := management.Items(&management.Field{Name: "ids"}, ids, "list")
	if err != nil {
		return nil, err
	}
	if len(list) > maxBulk {
		return nil, management.CodedFault(management.CodeMaxLength, "ids", "At most %d feature flags are deleted at once, these are %d.", maxBulk, len(list))
	}
	return s.deleteAll(ctx, scope, list)
}

// deleteAll goes through the flags again while others that needed them go.
func (s Flags) deleteAll(ctx context.Context, scope *management.Scope, ids []json.RawMessage) (*BulkDeleteResult, error) {
	out := &BulkDeleteResult{Deleted: []deletedFlag{}}
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

// deleteOne deletes a flag and says what it was, also of one that is kept.
func (s Flags) deleteOne(ctx context.Context, scope *management.Scope, raw json.RawMessage) (*deletedFlag, error) {
	id, ok := management.Integer(raw, management.JSONKind(raw))
	if !ok {
		return nil, management.Fault("", "Invalid flag ID format")
	}
	summary, err := management.Read(ctx, &s.Env, func(tx Tx) (*deletedFlag, error) {
		f, err := s.loadFlag(tx, scope, id)
		var missing *management.Error
		if errors.As(err, &missing) && missing.Kind == management.NotFound || err == nil && (f.Deleted || !scope.CanSee(f.accessObject())) {
			return nil, management.Fault("", "Flag not found")
		}
		if err != nil {
			return nil, err
		}
		return f.rollout(), nil
	})
	if err != nil {
		return nil, err
	}
	_, err = s.Update(ctx, scope, id, management.Body{Members: map[string]json.RawMessage{"deleted": json.RawMessage("true")}}, false)
	return summary, err
}

// rollout says for whom a flag was on.
func (f *storedFlag) rollout() *deletedFlag {
	out := &deletedFlag{ID: f.ID, Key: f.Key, State: "partial"}
	value, text := f.shape().constant()
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
