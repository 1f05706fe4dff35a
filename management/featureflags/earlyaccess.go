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

// kindFeature is the kind of records of early access features. Parent is the project and Sort the
// creation time.
const kindFeature = "early_access_feature"

// EarlyAccess manages early access features (§5.5). Each feature has a flag, to which it adds a
// condition that is on for the persons who enroll themselves.
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

// featureStages are the stages of a feature. Persons may enroll in a feature whose stage is in
// releaseStages.
var (
	featureStages = []string{"draft", "concept", "alpha", "beta", "general-availability", "archived"}
	releaseStages = []string{"concept", "alpha", "beta", "general-availability"}
)

// featureSettings are the members of a feature that are returned as stored.
type featureSettings struct {
	ID               string           `json:"id"`
	Name             string           `json:"name"`
	Description      string           `json:"description"`
	Stage            string           `json:"stage"`
	DocumentationURL string           `json:"documentation_url"`
	Created          management.Stamp `json:"created_at"`
}

// feature is an early access feature as the API returns it.
type feature struct {
	featureSettings
	Flag json.RawMessage `json:"feature_flag"`
}

// storedFeature is the stored form of a feature.
type storedFeature struct {
	featureSettings
	Flag int64 `json:"flag"` // id
}

// FeatureChangeFields are the fields that can be changed, FeatureFields those of a new feature.
var (
	FeatureChangeFields = management.Fields{
		{Name: "name", Type: management.Text, Required: true, MaxLength: 200},
		{Name: "description", Type: management.Text, Blank: true},
		{Name: "stage", Type: management.Choice, Required: true, Choices: featureStages},
		{Name: "documentation_url", Type: management.URL, Blank: true, MaxLength: 800},
	}
	FeatureFields = append(slices.Clone(FeatureChangeFields), management.Fields{
		{Name: "feature_flag_id", Type: management.Int, Null: true, Custom: true, Help: "id of the feature's flag; by default a flag named after the feature is created"},
		{Name: "_create_in_folder", Type: management.Text, Null: true, Blank: true, Custom: true, Help: "has no effect"},
	}...)
)

// loadMinimalFlag returns a flag as it is embedded in other responses. It returns null if id is
// 0, if the flag is deleted, and if the caller may not see it; hidden is true only in the last
// case.
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

// rules assigns a new feature its flag, and updates the flag if the feature's stage or name has
// changed.
func (s EarlyAccess) rules(e *featureEdit) error {
	flag, err := s.flagFor(e)
	if err != nil {
		return err
	}
	f := e.After
	f.Flag = flag.ID
	return s.saveAttached(e, flag, f.superGroups(flag.Key), setLink(flag.Links.Features, flagLink{ID: linkID(f.ID), Name: f.Name}))
}

// beforeDelete removes the enrollment condition from the flag of a feature. The flag remains.
func (s EarlyAccess) beforeDelete(e *featureEdit) error {
	flag, err := Flags{s.core}.loadFlag(e.Tx, e.Scope, e.After.Flag)
	if err != nil {
		return err
	}
	return s.saveAttached(e, flag, json.RawMessage("null"), removeLink(flag.Links.Features, e.After.ID))
}

// flagFor returns the flag of a feature. A new feature uses the flag in feature_flag_id, which
// must be suitable, or creates a flag if there is none.
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
		// Early access is a choice of a person, and on or off: groups and variants are not
		// supported.
		case liveCount(flag.Links.Features) > 0:
			return nil, management.Fault("", "Linked feature flag %s already has a feature attached to it.", flag.Key)
		case isPresent(filters["aggregation_group_type_index"]):
			return nil, management.Fault("", "Group-based feature flags are not supported for Early Access Features.")
		case isPresent(management.JSONObject(filters["multivariate"])["variants"]):
			return nil, management.Fault("", "Multivariate feature flags are not supported for Early Access Features.")
		}
		return flag, nil
	}
	// The flag is off for all persons except those who enroll.
	filters := fmt.Sprintf(`{"groups":[{"properties":[],"rollout_percentage":0,"variant":null}],"payloads":{},"multivariate":null,"super_groups":%s}`, f.superGroups(slug(f.Name)))
	return flags.makeLinked(e.Tx, e.Scope, flagDraft{
		Key: slug(f.Name), Name: "Feature Flag for Feature " + f.Name, Active: true, Context: "early_access_features", Filters: json.RawMessage(filters),
	})
}

// makeLinked creates a flag for another resource, and loads it again so that the caller can add
// its link and save it.
func (s Flags) makeLinked(tx Tx, scope *management.Scope, d flagDraft) (*storedFlag, error) {
	flag, err := s.makeFlag(tx, scope, d)
	if err != nil {
		return nil, err
	}
	return s.loadFlag(tx, scope, flag.ID)
}

// saveLinked stores a flag after a change of its links. It validates the flag and increments its
// version only if the flag's own settings were changed as well.
func (s Flags) saveLinked(tx Tx, scope *management.Scope, f *storedFlag) error {
	if f.Origin != "" || !bytes.Equal(f.Filters, f.before.Filters) || f.Active != f.before.Active || f.Deleted != f.before.Deleted {
		return s.saveFlag(tx, scope, f)
	}
	return s.putFlag(tx, scope, f)
}

// loadLinked loads the flag that a request refers to in field. It returns an error for that field
// if the flag does not exist or is deleted.
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

// slug converts a name into a flag key of lowercase letters, digits, underscores, and hyphens
// between them.
func slug(name string) string {
	return strings.Trim(notSlug.ReplaceAllString(strings.ToLower(name), "-"), "-_")
}

// superGroups returns the conditions that let persons enroll themselves in the feature, as the
// member super_groups of its flag. It returns null if the stage is not in releaseStages.
func (f *storedFeature) superGroups(key string) json.RawMessage {
	if !slices.Contains(releaseStages, f.Stage) {
		return json.RawMessage("null")
	}
	property := map[string]any{"key": enrollment + key, "type": "person", "operator": "exact", "value": []string{"true"}}
	return management.Encode([]any{map[string]any{"properties": []any{property}, "rollout_percentage": 100}})
}

// saveAttached sets the super groups and links of a flag and stores it if either has changed.
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

// compactJSON returns a canonical encoding of a JSON value for comparisons, with sorted members.
// An empty value results in null.
func compactJSON(raw json.RawMessage) []byte {
	var v any
	_ = json.Unmarshal(raw, &v) // v stays nil for invalid JSON
	return management.Encode(v)
}

// setLink returns a copy of the list with link added, in place of an existing link with the same id.
func setLink(list []flagLink, link flagLink) []flagLink {
	out := slices.Clone(list)
	if i := slices.IndexFunc(out, func(l flagLink) bool { return l.ID == link.ID }); i >= 0 {
		out[i] = link
		return out
	}
	return append(out, link)
}

// removeLink returns a copy of the list without the link with the given id.
func removeLink(list []flagLink, id string) []flagLink {
	return slices.DeleteFunc(slices.Clone(list), func(l flagLink) bool { return string(l.ID) == id })
}

// PublicFeature is a feature as returned to clients that have only the project's API key.
type PublicFeature struct {
	ID               string `json:"id"`
	Name             string `json:"name"`
	Description      string `json:"description"`
	Stage            string `json:"stage"`
	DocumentationURL string `json:"documentationUrl"`
	FlagKey          string `json:"flagKey"`
}

// defaultStage is the stage of the features that are listed if a request specifies no stage.
const defaultStage = "beta"

// Public returns the features of a project that are in one of the stages, newest first. If stages
// is empty, it returns features in beta. Drafts, archived features and features whose flag is
// deleted are never returned.
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
			// A request for drafts or archived features returns no features.
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
