package featureflags

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

// bulkChangeFields are the fields of the request that applies one patch to several flags
// (console.md N13).
var bulkChangeFields = management.Fields{
	{Name: "ids", Type: management.Array, Required: true, Help: "ids of flags, at most 200"},
	{Name: "patch", Type: management.Object, Required: true, Help: "exactly one of active, archived, deleted (booleans), add_tags, remove_tags (lists of strings)"},
}

// patchFields are the fields of a patch.
var patchFields = management.Fields{
	{Name: "active", Type: management.Bool}, {Name: "archived", Type: management.Bool}, {Name: "deleted", Type: management.Bool},
	{Name: "add_tags", Type: management.TextList, MaxLength: 255, Blank: true}, {Name: "remove_tags", Type: management.TextList, MaxLength: 255, Blank: true},
}

// maxBulkChange limits the flags that one request may change.
const maxBulkChange = 200

// bulkChangeResult is the result of BulkChange, in the order of the ids in the request.
type bulkChangeResult struct {
	Results []changedFlag `json:"results"`
}

// changedFlag is the result for one flag. ID is the value that was sent.
type changedFlag struct {
	ID json.RawMessage `json:"id"`
	// OK reports whether the flag was changed.
	OK bool `json:"ok"`
	// Error is a sentence for people; null if OK is true.
	Error *string `json:"error"`
}

// BulkChange applies a patch to flags, each in its own transaction. A flag that cannot be changed
// does not prevent the change of the rest.
func (s Flags) BulkChange(ctx context.Context, scope *management.Scope, b management.Body) (*bulkChangeResult, error) {
	v, err := bulkChangeFields.Create(b)
	if err != nil {
		return nil, err
	}
	ids, err := management.Items(&bulkChangeFields[0], v.Raw("ids"), "list")
	if err != nil {
		return nil, err
	}
	if len(ids) > maxBulkChange {
		return nil, management.CodedFault(management.CodeMaxLength, "ids", "At most %d feature flags can be changed at once, not %d.", maxBulkChange, len(ids))
	}
	change, err := s.parsePatch(v.Raw("patch"))
	if err != nil {
		return nil, err
	}
	out := &bulkChangeResult{Results: make([]changedFlag, len(ids))}
	for i, raw := range ids {
		// Faults of one flag are part of the result; any other error ends the request.
		err := change(ctx, scope, raw)
		var fault *management.Error
		if err != nil && !errors.As(err, &fault) {
			return nil, err
		}
		out.Results[i] = changedFlag{ID: raw, OK: err == nil}
		if fault != nil {
			out.Results[i].Error = &fault.Message
		}
	}
	return out, nil
}

// parsePatch returns a function that applies a patch to the flag with an id. A patch must have
// exactly one member.
func (s Flags) parsePatch(patch json.RawMessage) (func(context.Context, *management.Scope, json.RawMessage) error, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(patch, &members); err != nil {
		return nil, management.Fault("patch", "Expected an object.")
	}
	// The members are applied by different operations, so a patch has exactly one.
	if len(members) != 1 {
		return nil, management.Fault("patch", "Send exactly one of active, archived, deleted, add_tags, remove_tags.")
	}
	v, err := patchFields.Change(management.Body{Members: members})
	if err != nil {
		return nil, resource.PrefixField("patch", err)
	}
	for _, action := range []string{"add", "remove"} {
		if v.Has(action + "_tags") {
			sent := lists.NormalizeTags(v.Texts(action + "_tags"))
			return func(ctx context.Context, scope *management.Scope, raw json.RawMessage) error {
				_, err := s.tag(ctx, scope, raw, tagActions[action], sent)
				return err
			}, nil
		}
	}
	for _, name := range []string{"active", "archived", "deleted"} {
		if v.Has(name) {
			return func(ctx context.Context, scope *management.Scope, raw json.RawMessage) error {
				id, ok := plain.Integer(raw, management.JSONKind(raw))
				if !ok {
					return management.Fault("", "Invalid flag ID format")
				}
				_, err := s.Update(ctx, scope, id, management.Body{Members: members}, false)
				return err
			}, nil
		}
	}
	return nil, management.Fault("patch", "Send exactly one of active, archived, deleted, add_tags, remove_tags.")
}
