package earlyaccess

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// kindFeature is the kind of records of early access features. Parent is the project and Sort the
// creation time.
const kindFeature = "early_access_feature"

// featureStages are the stages of a feature. Persons may enroll in a feature with one of the
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

// changeFields are the fields that can be changed, and Fields are the fields of a new feature.
var (
	changeFields = management.Fields{
		{Name: "name", Type: management.Text, Required: true, MaxLength: 200},
		{Name: "description", Type: management.Text, Blank: true},
		{Name: "stage", Type: management.Choice, Required: true, Choices: featureStages},
		{Name: "documentation_url", Type: management.URL, Blank: true, MaxLength: 800},
	}
	featureFields = append(slices.Clone(changeFields), management.Fields{
		{Name: "feature_flag_id", Type: management.Int, Null: true, Custom: true, Help: "id of the feature's flag; by default a flag named after the feature is created"},
		{Name: "_create_in_folder", Type: management.Text, Null: true, Blank: true, Custom: true, Help: "has no effect"},
	}...)
)

// rules assigns a new feature its flag, and updates the flag if the feature's stage or name has
// changed.
func (s Service) rules(e *featureEdit) error {
	flag, err := s.flagFor(e)
	if err != nil {
		return err
	}
	f := e.After
	f.Flag = flag.ID
	return s.saveAttached(e, flag, f.superGroups(flag.Key), storedflags.SetLink(flag.Links.Features, storedflags.FlagLink{ID: storedflags.LinkID(f.ID), Name: f.Name}))
}

// beforeDelete removes the enrollment condition from the flag of a feature. The flag remains.
func (s Service) beforeDelete(e *featureEdit) error {
	flag, err := s.stored.Load(e.Tx, e.Scope, e.After.Flag)
	if err != nil {
		return err
	}
	return s.saveAttached(e, flag, json.RawMessage("null"), storedflags.RemoveLink(flag.Links.Features, e.After.ID))
}

// flagFor returns the flag of a feature. A new feature uses the flag in feature_flag_id, which
// must be suitable, or creates a flag.
func (s Service) flagFor(e *featureEdit) (*storedflags.Flag, error) {
	f, v := e.After, e.Values
	if !e.IsNew {
		return s.stored.Load(e.Tx, e.Scope, f.Flag)
	}
	if v.Has("feature_flag_id") && !v.IsNull("feature_flag_id") {
		flag, err := s.stored.LoadLinked(e.Tx, e.Scope, v.Int("feature_flag_id"), "")
		if err != nil {
			return nil, err
		}
		filters := management.JSONObject(flag.Filters)
		switch {
		// Early access is a choice of a person, and on or off: groups and variants are not
		// supported.
		case storedflags.LiveCount(flag.Links.Features) > 0:
			return nil, management.Fault("", "Linked feature flag %s already has a feature attached to it.", flag.Key)
		case !management.EmptyJSON(filters["aggregation_group_type_index"]):
			return nil, management.Fault("", "Group-based feature flags are not supported for Early Access Features.")
		case !management.EmptyJSON(management.JSONObject(filters["multivariate"])["variants"]):
			return nil, management.Fault("", "Multivariate feature flags are not supported for Early Access Features.")
		}
		return flag, nil
	}
	// The flag is off for all persons who have not enrolled.
	filters := fmt.Sprintf(`{"groups":[{"properties":[],"rollout_percentage":0,"variant":null}],"payloads":{},"multivariate":null,"super_groups":%s}`, f.superGroups(slug(f.Name)))
	return s.stored.MakeLinked(e.Tx, e.Scope, storedflags.Draft{
		Key: slug(f.Name), Name: "Feature Flag for Feature " + f.Name, Active: true, Context: "early_access_features", Filters: json.RawMessage(filters),
	})
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
	property := map[string]any{"key": storedflags.Enrollment + key, "type": "person", "operator": "exact", "value": []string{"true"}}
	return storage.Encode([]any{map[string]any{"properties": []any{property}, "rollout_percentage": 100}})
}

// saveAttached sets the super groups and links of a flag and stores it if either has changed.
func (s Service) saveAttached(e *featureEdit, flag *storedflags.Flag, groups json.RawMessage, links []storedflags.FlagLink) error {
	filters := management.JSONObject(flag.Filters)
	unchanged := bytes.Equal(storedflags.CompactJSON(filters["super_groups"]), storedflags.CompactJSON(groups))
	if unchanged && slices.Equal(links, flag.Links.Features) {
		return nil
	}
	if !unchanged {
		filters["super_groups"] = groups
		flag.Filters = storage.Encode(filters)
	}
	flag.Links.Features = links
	return s.stored.SaveLinked(e.Tx, e.Scope, flag)
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
func (s Service) Public(ctx context.Context, project int64, stages []string) ([]PublicFeature, error) {
	if len(stages) == 0 {
		stages = []string{defaultStage}
	}
	return management.Read(ctx, s.stored.Env, func(tx storeTx) ([]PublicFeature, error) {
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
			flag, err := tx.Definition(management.FlagDefinition, project, f.Flag)
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
