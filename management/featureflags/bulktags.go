package featureflags

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// bulkTagsFields are the fields of the request that changes the tags of several flags.
var bulkTagsFields = management.Fields{
	{Name: "ids", Type: management.Array, Required: true, Help: "ids of flags, at most 1,000"},
	{Name: "action", Type: management.Choice, Required: true, Choices: []string{"add", "remove", "set"}},
	{Name: "tags", Type: management.TextList, Required: true, MaxLength: 255, Blank: true, Help: "tags are trimmed, converted to lower case and deduplicated"},
}

// bulkTagResult is the result of BulkTags.
type bulkTagResult struct {
	// Updated lists the flags that have the requested tags now, and Skipped the rest with reasons.
	Updated []taggedFlag  `json:"updated"`
	Skipped []skippedFlag `json:"skipped"`
}

// taggedFlag is a flag with its tags after the request, whether they have changed or not.
type taggedFlag struct {
	ID int64 `json:"id"`
	// Tags are sorted.
	Tags []string `json:"tags"`
}

// tagActions are functions that return the new tags, given the tags of the flag and the tags in the
// request.
var tagActions = map[string]func(has, sent []string) []string{
	"add":    func(has, sent []string) []string { return append(slices.Clone(has), sent...) },
	"remove": func(has, sent []string) []string { return storedflags.MissingFrom(sent, has) },
	"set":    func(_, sent []string) []string { return sent },
}

// BulkTags changes the tags of flags, each in its own transaction (spec/clients.md §7.3). A flag
// that cannot be changed does not prevent the change of the rest.
func (s Flags) BulkTags(ctx context.Context, scope *management.Scope, b management.Body) (*bulkTagResult, error) {
	v, err := bulkTagsFields.Create(b)
	if err != nil {
		return nil, err
	}
	ids, err := management.Items(&bulkTagsFields[0], v.Raw("ids"), "list")
	if err != nil {
		return nil, err
	}
	if len(ids) > maxBulk {
		return nil, management.CodedFault(management.CodeMaxLength, "ids", "The tags of at most %d feature flags can be changed at once, not %d.", maxBulk, len(ids))
	}
	out := &bulkTagResult{Updated: []taggedFlag{}, Skipped: []skippedFlag{}}
	// Each flag is changed in its own transaction, so a fault affects only that flag.
	for _, raw := range ids {
		tagged, err := s.tag(ctx, scope, raw, tagActions[v.Text("action")], lists.NormalizeTags(v.Texts("tags")))
		var fault *management.Error
		switch {
		case err == nil:
			out.Updated = append(out.Updated, *tagged)
		case errors.As(err, &fault):
			out.Skipped = append(out.Skipped, skippedFlag{ID: raw, Reason: fault.Message})
		default:
			return nil, err
		}
	}
	return out, nil
}

// tag changes the tags of one flag. It creates a new version only if the tags differ.
func (s Flags) tag(ctx context.Context, scope *management.Scope, raw json.RawMessage, change func(has, sent []string) []string, sent []string) (*taggedFlag, error) {
	id, ok := plain.Integer(raw, management.JSONKind(raw))
	if !ok {
		return nil, management.Fault("", "Invalid flag ID format")
	}
	return management.Write(ctx, &s.Env, func(tx storeTx) (*taggedFlag, error) {
		f, err := s.stored.Find(tx, scope, id)
		if err == nil && (f == nil || !scope.CanSee(f.AccessObject())) {
			err = management.Fault("", "Flag not found")
		}
		if err == nil {
			err = scope.RequireAccess(management.Editor, f.AccessObject())
		}
		if err != nil {
			return nil, err
		}
		// NormalizeTags removes duplicates, which the action add may have produced.
		f.Tags = lists.NormalizeTags(change(f.Tags, sent))
		if slices.Sort(f.Tags); !slices.Equal(f.Tags, f.Before.Tags) {
			err = s.stored.Save(tx, scope, f)
		}
		return &taggedFlag{f.ID, f.Tags}, err
	})
}
