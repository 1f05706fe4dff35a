package featureflags

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// BulkTagsFields are those of the body that changes the tags of flags.
var BulkTagsFields = management.Fields{
	{Name: "ids", Type: management.Array, Required: true, Help: "ids of flags, at most 1,000"},
	{Name: "action", Type: management.Choice, Required: true, Choices: []string{"add", "remove", "set"}},
	{Name: "tags", Type: management.TextList, Required: true, MaxLength: 255, Help: "trimmed, in lower case, without duplicates"},
}

// bulkTagResult says what became of flags whose tags were to be changed.
type bulkTagResult struct {
	Updated []taggedFlag  `json:"updated"`
	Skipped []skippedFlag `json:"skipped"`
}

// taggedFlag is a flag that has its tags now, whether they were others before or not.
type taggedFlag struct {
	ID   int64    `json:"id"`
	Tags []string `json:"tags"`
}

// tagActions make new tags of those that are there and those that were sent.
var tagActions = map[string]func(has, sent []string) []string{
	"add":    func(has, sent []string) []string { return append(slices.Clone(has), sent...) },
	"remove": func(has, sent []string) []string { return missingFrom(sent, has) },
	"set":    func(_, sent []string) []string { return sent },
}

// BulkTags changes the tags of flags one by one (spec/clients.md §7.3): what is refused
// keeps no other.
func (s Flags) BulkTags(ctx context.Context, scope *management.Scope, b management.Body) (*bulkTagResult, error) {
	v, err := BulkTagsFields.Create(b)
	if err != nil {
		return nil, err
	}
	ids, err := management.Items(&BulkTagsFields[0], v.Raw("ids"), "list")
	if err != nil {
		return nil, err
	}
	if len(ids) > maxBulk {
		return nil, management.CodedFault(management.CodeMaxLength, "ids", "The tags of at most %d feature flags are changed at once, these are %d.", maxBulk, len(ids))
	}
	out := &bulkTagResult{Updated: []taggedFlag{}, Skipped: []skippedFlag{}}
	for _, raw := range ids {
		tagged, err := s.tag(ctx, scope, raw, tagActions[v.Text("action")], management.NormalizeTags(v.Texts("tags")))
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

// tag changes the tags of one flag. Where they stay the same there is no new version.
func (s Flags) tag(ctx context.Context, scope *management.Scope, raw json.RawMessage, change func(has, sent []string) []string, sent []string) (*taggedFlag, error) {
	id, ok := management.Integer(raw, management.JSONKind(raw))
	if !ok {
		return nil, management.Fault("", "Invalid flag ID format")
	}
	return management.Write(ctx, &s.Env, func(tx Tx) (*taggedFlag, error) {
		f, err := findFlag(tx, scope, s, id)
		if err == nil && (f == nil || !scope.CanSee(f.accessObject())) {
			err = management.Fault("", "Flag not found")
		}
		if err == nil {
			err = scope.RequireAccess(management.Editor, f.accessObject())
		}
		if err != nil {
			return nil, err
		}
		f.Tags = management.NormalizeTags(change(f.Tags, sent))
		if slices.Sort(f.Tags); !slices.Equal(f.Tags, f.before.Tags) {
			err = s.saveFlag(tx, scope, f)
		}
		return &taggedFlag{f.ID, f.Tags}, err
	})
}
