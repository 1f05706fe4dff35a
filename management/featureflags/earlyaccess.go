package featureflags

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// kindFeature is an early access feature: Parent is the project, Sort the time.
const kindFeature = "early_access_feature"

// EarlyAccess are early access features (§5.5).
type EarlyAccess struct {
	*core
	management.Resource[Tx, storedFeature, feature]
}

type featureEdit = management.Edit[Tx, storedFeature]

func newEarlyAccess(c *core) (s EarlyAccess) {
	s.core = c
	s.Resource = management.NewResource(&c.Env, management.Spec[Tx, storedFeature, feature]{
		Kind: kindFeature, ActivityScope: "EarlyAccessFeature", Fields: FeatureFields, Changes: FeatureChangeFields, NewestFirst: true,
		Header: func(_ *management.Scope, f *storedFeature) management.RecordHeader {
			return management.RecordHeader{ID: f.ID, Title: f.Name, Sort: management.SortTime(f.Created.Time)}
		},
		New: func(*view) (*storedFeature, error) {
			return &storedFeature{featureSettings: featureSettings{ID: c.Env.NewID(), Created: management.NewStamp(c.Env.Now())}}, nil
		},
		Rules: s.rules, BeforeDelete: s.beforeDelete,
		Show: func(v *view, f *storedFeature) (*feature, error) {
			flag, _, err := loadMinimalFlag(v, f.Flag)
			return &feature{f.featureSettings, flag}, err
		},
	})
	return s
}

// The stages of a feature. People may enroll in those of releaseStages.
var (
	featureStages = []string{"draft", "concept", "alpha", "beta", "general-availability", "archived"}
	releaseStages = []string{"concept", "alpha", "beta", "general-availability"}
)

// featureSettings are what is kept of a feature and shown as it is.
type featureSettings struct {
	ID               string           `json:"id"`
	Name             string           `json:"name"`
	Description      string           `json:"description"`
	Stage            string           `json:"stage"`
	DocumentationURL string           `json:"documentation_url"`
	Created          management.Stamp `json:"created_at"`
}

// feature is an early access feature as it is shown.
type feature struct {
	featureSettings
	Flag json.RawMessage `json:"feature_flag"`
}

// storedFeature is a feature as it is kept.
type storedFeature struct {
	featureSettings
	Flag int64 `json:"flag"`
}

// FeatureChangeFields are what can be changed of a feature, FeatureFields what a
// new one is made of.
var (
	FeatureChangeFields = management.Fields{
		{Name: "name", Type: management.Text, Required: true, MaxLength: 200},
		{Name: "description", Type: management.Text, Blank: true},
		{Name: "stage", Type: management.Choice, Required: true, Choices: featureStages},
		{Name: "documentation_url", Type: management.URL, Blank: true, MaxLength: 800},
	}
	FeatureFields = append(slices.Clone(FeatureChangeFields), management.Fields{
		{Name: "feature_flag_id", Type: management.Int, Null: true, Custom: true, Help: "the flag of the feature; without it one is made, named after the feature"},
		{Name: "_create_in_folder", Type: management.Text, Null: true, Blank: true, Custom: true, Help: "has no effect"},
	}...)
)

// loadMinimalFlag is a flag inside of another answer, null for 0, for one that is gone and for
// one that the reader may not see.
func loadMinimalFlag(v *view, id int64) (_ json.RawMessage, hidden bool, err error) {
	null := json.RawMessage("null")
	if id == 0 {
		return null, false, nil
	}
	d, err := v.Tx.Definition(FlagDefinition, v.Project.ID, id)
	if err != nil || d == nil || d.Deleted {
		return null, false, err
	}
	f, err := decodeFlag(v.Project.ID, d)
	switch {
	case err != nil:
		return nil, false, err
	case !v.CanSee(f.accessObject()):
		return null, true, nil
	}
	return encodeMinimalFlag(f), false, nil
}

// rules give a feature its flag, which is another one while people may enroll.
func (s EarlyAccess) rules(e *featureEdit) error {
	flag, err := s.flagFor(e)
	if err != nil {
		return err
	}
	f := e.After
	f.Flag = flag.ID
	return s.saveAttached(e, flag, f.superGroups(flag.Key), setLink(flag.Links.Features, flagLink{ID: linkID(f.ID), Name: f.Name}))
}

// beforeDelete takes early access from the flag of a feature that goes. The flag stays.
func (s EarlyAccess) beforeDelete(e *featureEdit) error {
	flag, err := Flags{s.core}.loadFlag(e.Tx, e.Scope, e.After.Flag)
	if err != nil {
		return err
	}
	return s.saveAttached(e, flag, json.RawMessage("null"), removeLink(flag.Links.Features, e.After.ID))
}

// flagFor is the flag of a feature: of a new one the one that is named, if it can be,
// or a new one.
func (s EarlyAccess) flagFor(e *featureEdit) (*storedFlag, error) {
	flags, f, v := Flags{s.core}, e.After, e.Values
	if !e.IsNew {
		return flags.loadFlag(e.Tx, e.Scope, f.Flag)
	}
	if v.Has("feature_flag_id") && !v.IsNull("feature_flag_id") {
		flag, err := loadLinked(e.Tx, e.Scope, flags, v.Int("feature_flag_id"), "")
		if err != nil {
			return nil, err
		}
		filters := management.JSONObject(flag.Filters)
		switch {
		case liveCount(flag.Links.Features) > 0:
			return nil, management.Fault("", "Linked feature flag %s already has a feature attached to it.", flag.Key)
		case isPresent(filters["aggregation_group_type_index"]):
			return nil, management.Fault("", "Group-based feature flags are not supported for Early Access Features.")
		case isPresent(management.JSONObject(filters["multivariate"])["variants"]):
			return nil, management.Fault("", "Multivariate feature flags are not supported for Early Access Features.")
		}
		return flag, nil
	}
	filters := fmt.Sprintf(`{"groups":[{"properties":[],"rollout_percentage":0,"variant":null}],"payloads":{},"multivariate":null,"super_groups":%s}`, f.superGroups(slug(f.Name)))
	return flags.makeLinked(e.Tx, e.Scope, flagDraft{
		Key: slug(f.Name), Name: "Feature Flag for Feature " + f.Name, Active: true, Context: "early_access_features", Filters: json.RawMessage(filters),
	})
}

// makeLinked makes a flag for another thing and loads it, so that it can be linked.
func (s Flags) makeLinked(tx Tx, scope *management.Scope, d flagDraft) (*storedFlag, error) {
	flag, err := s.makeFlag(tx, scope, d)
	if err != nil {
		return nil, err
	}
	return s.loadFlag(tx, scope, flag.ID)
}

// saveLinked stores a flag that was loaded and whose links are others: as a new
// version only when the flag itself is another one.
func (s Flags) saveLinked(tx Tx, scope *management.Scope, f *storedFlag) error {
	if f.Origin != "" || !bytes.Equal(f.Filters, f.before.Filters) || f.Active != f.before.Active || f.Deleted != f.before.Deleted {
		return s.saveFlag(tx, scope, f)
	}
	return s.putFlag(tx, scope, f)
}

// loadLinked finds a flag that is not deleted and that another thing names.
func loadLinked(tx Tx, scope *management.Scope, flags Flags, id int64, field string) (*storedFlag, error) {
	d, err := tx.Definition(FlagDefinition, scope.Project.ID, id)
	if err != nil {
		return nil, err
	}
	if d == nil || d.Deleted {
		return nil, management.Fault(field, "Feature Flag with this ID does not exist")
	}
	return flags.loadFlag(tx, scope, id)
}

var notSlug = regexp.MustCompile(`[^a-z0-9_]+`)

// slug is a name as a key: small letters, digits, underscores, and hyphens
// between them.
func slug(name string) string {
	return strings.Trim(notSlug.ReplaceAllString(strings.ToLower(name), "-"), "-_")
}

// superGroups are what a flag needs so that persons may choose the feature
// themselves: nothing outside of the release stages.
func (f *storedFeature) superGroups(key string) json.RawMessage {
	if !slices.Contains(releaseStages, f.Stage) {
		return json.RawMessage("null")
	}
	property := map[string]any{"key": enrollment + key, "type": "person", "operator": "exact", "value": []string{"true"}}
	return management.Encode([]any{map[string]any{"properties": []any{property}, "rollout_percentage": 100}})
}

// saveAttached stores a flag with other super groups and links, if they are others.
func (s EarlyAccess) saveAttached(e *featureEdit, flag *storedFlag, groups json.RawMessage, links []flagLink) error {
	filters := management.JSONObject(flag.Filters)
	unchanged := bytes.Equal(compactJSON(filters["super_groups"]), compactJSON(groups))
	if unchanged && slices.Equal(links, flag.Links.Features) {
		return nil
	}
	if !unchanged {
		filters["super_groups"] = groups
		flag.Filters = management.Encode(filters)
	}
	flag.Links.Features = links
	return Flags{s.core}.saveLinked(e.Tx, e.Scope, flag)
}

// compactJSON is a JSON value in one form: its members by name, null for none.
func compactJSON(raw json.RawMessage) []byte {
	var v any
	_ = json.Unmarshal(raw, &v) // what cannot be read is null
	return management.Encode(v)
}

// setLink puts a link into a list, or in the place of the one with its id.
func setLink(list []flagLink, link flagLink) []flagLink {
	return append(removeLink(list, string(link.ID)), link)
}

// removeLink is a list without the link of an id.
func removeLink(list []flagLink, id string) []flagLink {
	return slices.DeleteFunc(slices.Clone(list), func(l flagLink) bool { return string(l.ID) == id })
}

// PublicFeature is a feature as everybody with the project's key may see it.
type PublicFeature struct {
	ID               string `json:"id"`
	Name             string `json:"name"`
	Description      string `json:"description"`
	Stage            string `json:"stage"`
	DocumentationURL string `json:"documentationUrl"`
	FlagKey          string `json:"flagKey"`
}

// defaultStage is the stage whose features are listed when none is asked for.
const defaultStage = "beta"

// Public returns the features of a project in some stages, beta when there are
// none, newest first. Drafts and archived features are nobody's to see.
func (s EarlyAccess) Public(ctx context.Context, project int64, stages []string) ([]PublicFeature, error) {
	if len(stages) == 0 {
		stages = []string{defaultStage}
	}
	return management.Read(ctx, &s.Env, func(tx Tx) ([]PublicFeature, error) {
		list, err := management.ListRecords[storedFeature](tx, management.Query{Kind: kindFeature, Parent: management.ProjectParent(project), Descending: true})
		if err != nil {
			return nil, err
		}
		out := []PublicFeature{}
		for _, f := range list.Results {
			if !slices.Contains(stages, f.Stage) || !slices.Contains(releaseStages, f.Stage) {
				continue
			}
			flag, err := tx.Definition(FlagDefinition, project, f.Flag)
			if err != nil {
				return nil, err
			}
			if flag != nil && !flag.Deleted {
				out = append(out, PublicFeature{f.ID, f.Name, f.Description, f.Stage, f.DocumentationURL, flag.Key})
			}
		}
		return out, nil
	})
}
