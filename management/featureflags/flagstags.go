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
	{Name: "tags", Type: management.TextList, Required: true, Max: 255, Help: "trimmed, in lower case, without duplicates"},
}

// bulkTagged says what became of flags whose tags were to be changed.
type bulkTagged struct {
	Updated []taggedFlag `json:"updated"`
	Skipped []keptFlag   `json:"skipped"`
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
func (s Flags) BulkTags(ctx context.Context, st *management.Standing, b management.Body) (*bulkTagged, error) {
	v, err := BulkTagsFields.Create(b)
	if err != nil {
		return nil, err
	}
	ids, err := management.Items(&BulkTagsFields[0], v.Raw("ids"), "list")
	if err != nil {
		return nil, err
	}
	if len(ids) > maxBulk {
		return nil, management.Coded(management.CodeMaxLength, "ids", "The tags of at most %d feature flags are changed at once, these are %d.", maxBulk, len(ids))
	}
	out := &bulkTagged{Updated: []taggedFlag{}, Skipped: []keptFlag{}}
	for _, raw := range ids {
		done, err := s.tag(ctx, st, raw, tagActions[v.Text("action")], management.TidyTags(v.Texts("tags")))
		var refused *management.Error
		switch {
		case err == nil:
			out.Updated = append(out.Updated, *done)
		case errors.As(err, &refused):
			out.Skipped = append(out.Skipped, keptFlag{ID: raw, Reason: refused.Message})
		default:
			return nil, err
		}
	}
	return out, nil
}

// tag changes the tags of one flag. Where they stay the same there is no new version.
func (s Flags) tag(ctx context.Context, st *management.Standing, raw json.RawMessage, change func(has, sent []string) []string, sent []string) (*taggedFlag, error) {
	id, ok := management.Integer(raw, management.JSONKind(raw))
	if !ok {
		return nil, management.Fault("", "Invalid flag ID format")
	}
	return management.Write(ctx, &s.Desk, func(tx Tx) (*taggedFlag, error) {
		f, err := flagOf(tx, st, s, id)
		if err == nil && (f == nil || !st.Sees(f.thing())) {
			err = management.Fault("", "Flag not found")
		}
		if err == nil {
			err = st.Needs(management.Editor, f.thing())
		}
		if err != nil {
			return nil, err
		}
		f.Tags = management.TidyTags(change(f.Tags, sent))
		if slices.Sort(f.Tags); !slices.Equal(f.Tags, f.was.Tags) {
			err = s.saveFlag(tx, st, f)
		}
		return &taggedFlag{f.ID, f.Tags}, err
	})
}
