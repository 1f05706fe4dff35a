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
func (s Flags) MatchingIDs(ctx context.Context, st *management.Standing, q FlagQuery) (*MatchingIDs, error) {
	return management.Read(ctx, &s.Desk, func(tx Tx) (*MatchingIDs, error) {
		out := &MatchingIDs{IDs: []int64{}}
		all, err := s.matching(tx, st, &q)
		for _, f := range all {
			if f.Origin == "" && st.AccessTo(f.thing()).Allows(management.Editor) {
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

// BulkDeleted says what became of flags that were to be deleted.
type BulkDeleted struct {
	Deleted []deletedFlag `json:"deleted"`
	Errors  []keptFlag    `json:"errors"`
}

// deletedFlag is what a flag was when it was deleted.
type deletedFlag struct {
	ID      int64   `json:"id"`
	Key     string  `json:"key"`
	State   string  `json:"rollout_state"`  // fully_rolled_out, not_rolled_out, partial
	Variant *string `json:"active_variant"` // that everybody got, null for none
}

// keptFlag is one that is still there, and why. The id is what was sent.
type keptFlag struct {
	ID     json.RawMessage `json:"id"`
	Key    string          `json:"key,omitempty"`
	Reason string          `json:"reason"`
}

// BulkDelete deletes flags one by one, those that depend on others of them first: what
// is refused keeps no other. read makes a query of filters.
func (s Flags) BulkDelete(ctx context.Context, st *management.Standing, b management.Body, read func(json.RawMessage) (FlagQuery, error)) (*BulkDeleted, error) {
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
		q, err := read(filters)
		if err != nil {
			return nil, err
		}
		found, err := s.MatchingIDs(ctx, st, q)
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
		return nil, management.Coded(management.CodeMaxLength, "ids", "At most %d feature flags are deleted at once, these are %d.", maxBulk, len(list))
	}
	return s.deleteAll(ctx, st, list)
}

// deleteAll goes through the flags again while others that needed them go.
func (s Flags) deleteAll(ctx context.Context, st *management.Standing, ids []json.RawMessage) (*BulkDeleted, error) {
	out := &BulkDeleted{Deleted: []deletedFlag{}}
	for done := -1; len(out.Deleted) > done; {
		done, out.Errors = len(out.Deleted), []keptFlag{}
		var again []json.RawMessage
		for _, raw := range ids {
			was, err := s.deleteOne(ctx, st, raw)
			var refused *management.Error
			switch {
			case err == nil:
				out.Deleted = append(out.Deleted, *was)
				continue
			case !errors.As(err, &refused):
				return nil, err
			}
			kept := keptFlag{ID: raw, Reason: refused.Message}
			if was != nil {
				kept.Key = was.Key
			}
			out.Errors, again = append(out.Errors, kept), append(again, raw)
		}
		ids = again
	}
	return out, nil
}

// deleteOne deletes a flag and says what it was, also of one that is kept.
func (s Flags) deleteOne(ctx context.Context, st *management.Standing, raw json.RawMessage) (*deletedFlag, error) {
	id, ok := management.Integer(raw, management.JSONKind(raw))
	if !ok {
		return nil, management.Fault("", "Invalid flag ID format")
	}
	was, err := management.Read(ctx, &s.Desk, func(tx Tx) (*deletedFlag, error) {
		f, err := s.loadFlag(tx, st, id)
		var none *management.Error
		if errors.As(err, &none) && none.Kind == management.NotFound || err == nil && (f.Deleted || !st.Sees(f.thing())) {
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
	_, err = s.Update(ctx, st, id, management.Body{Members: map[string]json.RawMessage{"deleted": json.RawMessage("true")}}, false)
	return was, err
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
