package featureflags

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"github.com/bunting-flags/bunting/management"
	"regexp"
	"slices"
	"strings"
)

// EarlyAccess are early access features (§5.5).
type EarlyAccess struct{ *core }

// kindFeature is an early access feature: Parent is the project, Sort the time.
const kindFeature = "early_access_feature"

// featureScope is what changes of features are noted under.
const featureScope = "EarlyAccessFeature"

// The stages of a feature. People may enroll in those of releaseStages.
var (
	featureStages = []string{"draft", "concept", "alpha", "beta", "general-availability", "archived"}
	releaseStages = []string{"concept", "alpha", "beta", "general-availability"}
)

// Feature is an early access feature as it is shown.
type Feature struct {
	ID               string           `json:"id"`
	Flag             json.RawMessage  `json:"feature_flag"`
	Name             string           `json:"name"`
	Description      string           `json:"description"`
	Stage            string           `json:"stage"`
	DocumentationURL string           `json:"documentation_url"`
	Created          management.Stamp `json:"created_at"`
}

// storedFeature is a feature as it is kept.
type storedFeature struct {
	ID               string           `json:"id"`
	Flag             int64            `json:"flag"`
	Name             string           `json:"name"`
	Description      string           `json:"description"`
	Stage            string           `json:"stage"`
	DocumentationURL string           `json:"documentation_url"`
	Created          management.Stamp `json:"created_at"`
}

// FeatureChangeFields are what can be changed of a feature, FeatureFields what a
// new one is made of.
var (
	FeatureChangeFields = management.Fields{
		{Name: "name", Type: management.Text, Required: true, Max: 200},
		{Name: "description", Type: management.Text, Blank: true},
		{Name: "stage", Type: management.Choice, Required: true, Choices: featureStages},
		{Name: "documentation_url", Type: management.URL, Blank: true, Max: 800},
	}
	FeatureFields = append(slices.Clone(FeatureChangeFields), management.Fields{
		{Name: "feature_flag_id", Type: management.Int, Null: true, Help: "the flag of the feature; without it one is made, named after the feature"},
		{Name: "_create_in_folder", Type: management.Text, Null: true, Blank: true, Help: "has no effect"},
	}...)
)

// List returns a page of features, newest first.
func (s EarlyAccess) List(ctx context.Context, st *management.Standing, p management.Page) (management.List[Feature], error) {
	return management.Read(ctx, &s.Desk, func(tx Tx) (out management.List[Feature], err error) {
		list, err := management.ListRecords[storedFeature](tx, management.Query{
			Kind: kindFeature, Parent: management.ProjectParent(st.Project.ID), Descending: true, Offset: p.Offset, Limit: p.Limit,
		})
		out.Count = list.Count
		for i := 0; i < len(list.Results) && err == nil; i++ {
			var shown *Feature
			if shown, err = s.show(tx, st, &list.Results[i]); err == nil {
				out.Results = append(out.Results, *shown)
			}
		}
		return out, err
	})
}

// Get returns one feature.
func (s EarlyAccess) Get(ctx context.Context, st *management.Standing, id string) (*Feature, error) {
	return management.Read(ctx, &s.Desk, func(tx Tx) (*Feature, error) {
		f, err := s.load(tx, st, id)
		if err != nil {
			return nil, err
		}
		return s.show(tx, st, f)
	})
}

func (s EarlyAccess) load(tx Tx, st *management.Standing, id string) (*storedFeature, error) {
	return loadRecord[storedFeature](tx, kindFeature, management.ProjectParent(st.Project.ID), id)
}

// loadRecord is the record of a uuid that is not hidden.
func loadRecord[T any](tx Tx, kind, parent, id string) (*T, error) {
	id, ok := management.NormalUUID(id)
	if !ok {
		return nil, management.ErrNotFound()
	}
	r, err := tx.Get(kind, parent, id)
	if err == nil && (r == nil || r.Hidden) {
		err = management.ErrNotFound()
	}
	if err != nil {
		return nil, err
	}
	return management.Decode[T](r)
}

func (s EarlyAccess) show(tx Tx, st *management.Standing, f *storedFeature) (*Feature, error) {
	flag, err := minimalOf(tx, st.Project.ID, f.Flag)
	return &Feature{f.ID, flag, f.Name, f.Description, f.Stage, f.DocumentationURL, f.Created}, err
}

// minimalOf is a flag inside of another answer, null for 0 and for one that is
// gone.
func minimalOf(tx Tx, project, id int64) (json.RawMessage, error) {
	null := json.RawMessage("null")
	if id == 0 {
		return null, nil
	}
	d, err := tx.Definition(FlagDefinition, project, id)
	if err != nil || d == nil || d.Deleted {
		return null, err
	}
	f, err := decodeFlag(project, d)
	if err != nil {
		return nil, err
	}
	return flagMinimal(f), nil
}

// Create makes a feature, and a flag for it when none is named.
func (s EarlyAccess) Create(ctx context.Context, st *management.Standing, b management.Body) (*Feature, error) {
	v, err := FeatureFields.Create(b)
	if err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Desk, func(tx Tx) (*Feature, error) {
		f := &storedFeature{ID: s.Desk.NewID(), Created: management.At(s.Desk.Now())}
		f.set(v)
		flag, err := s.flagFor(tx, st, f, v)
		if err != nil {
			return nil, err
		}
		f.Flag = flag.ID
		if err := s.attach(tx, st, f, flag); err != nil {
			return nil, err
		}
		return s.put(tx, st, f, nil)
	})
}

func (f *storedFeature) set(v management.Values) {
	management.Set(v, "name", &f.Name)
	management.Set(v, "description", &f.Description)
	management.Set(v, "stage", &f.Stage)
	management.Set(v, "documentation_url", &f.DocumentationURL)
}

// put stores a feature and notes the change; before is nil for a new one.
func (s EarlyAccess) put(tx Tx, st *management.Standing, f *storedFeature, before *Feature) (*Feature, error) {
	parent := management.ProjectParent(st.Project.ID)
	if err := tx.Put(&management.Record{Kind: kindFeature, Parent: parent, ID: f.ID, Sort: management.SortTime(f.Created.Time), Data: management.Encode(f)}); err != nil {
		return nil, err
	}
	after, err := s.show(tx, st, f)
	if err != nil {
		return nil, err
	}
	var was any
	if before != nil {
		was = before
	}
	return after, s.Desk.Note(tx, st.Caller, parent, featureScope, f.ID, f.Name, was, after)
}

// flagFor is the flag that is named, if it can be a feature's, or a new one.
func (s EarlyAccess) flagFor(tx Tx, st *management.Standing, f *storedFeature, v management.Values) (*storedFlag, error) {
	flags := Flags(s)
	if v.Has("feature_flag_id") && !v.Null("feature_flag_id") {
		flag, err := loadLinked(tx, st, flags, v.Int("feature_flag_id"), "")
		if err != nil {
			return nil, err
		}
		filters := management.JSONObject(flag.Filters)
		switch {
		case liveCount(flag.Links.Features) > 0:
			return nil, management.Fault("", "Linked feature flag %s already has a feature attached to it.", flag.Key)
		case present(filters["aggregation_group_type_index"]):
			return nil, management.Fault("", "Group-based feature flags are not supported for Early Access Features.")
		case present(management.JSONObject(filters["multivariate"])["variants"]):
			return nil, management.Fault("", "Multivariate feature flags are not supported for Early Access Features.")
		}
		return flag, nil
	}
	filters := fmt.Sprintf(`{"groups":[{"properties":[],"rollout_percentage":0,"variant":null}],"payloads":{},"multivariate":null,"super_groups":%s}`, f.superGroups(slug(f.Name)))
	return flags.makeLinked(tx, st, FlagDraft{
		Key: slug(f.Name), Name: "Feature Flag for Feature " + f.Name, Active: true, Context: "early_access_features", Filters: json.RawMessage(filters),
	})
}

// makeLinked makes a flag for another thing and loads it, so that it can be linked.
func (s Flags) makeLinked(tx Tx, st *management.Standing, d FlagDraft) (*storedFlag, error) {
	made, err := s.makeFlag(tx, st, d)
	if err != nil {
		return nil, err
	}
	return s.loadFlag(tx, st, made.ID)
}

// saveLinked stores a flag that was loaded and whose links are others: as a new
// version only when the flag itself is another one.
func (s Flags) saveLinked(tx Tx, st *management.Standing, f *storedFlag) error {
	if f.Origin != "" || !bytes.Equal(f.Filters, f.was.Filters) || f.Active != f.was.Active || f.Deleted != f.was.Deleted {
		return s.saveFlag(tx, st, f)
	}
	return s.putFlag(tx, st, f)
}

// loadLinked finds a flag that is not deleted and that another thing names.
func loadLinked(tx Tx, st *management.Standing, flags Flags, id int64, field string) (*storedFlag, error) {
	d, err := tx.Definition(FlagDefinition, st.Project.ID, id)
	if err != nil {
		return nil, err
	}
	if d == nil || d.Deleted {
		return nil, management.Fault(field, "Feature Flag with this ID does not exist")
	}
	return flags.loadFlag(tx, st, id)
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

// attach makes a flag its feature's: the link, and early access in a release stage.
func (s EarlyAccess) attach(tx Tx, st *management.Standing, f *storedFeature, flag *storedFlag) error {
	return s.saveAttached(tx, st, flag, f.superGroups(flag.Key), setLink(flag.Links.Features, FlagLink{ID: LinkID(f.ID), Name: f.Name}))
}

// saveAttached stores a flag with other super groups and links, if they are others.
func (s EarlyAccess) saveAttached(tx Tx, st *management.Standing, flag *storedFlag, groups json.RawMessage, links []FlagLink) error {
	filters := management.JSONObject(flag.Filters)
	same := bytes.Equal(compactOf(filters["super_groups"]), compactOf(groups))
	if same && slices.Equal(links, flag.Links.Features) {
		return nil
	}
	if !same {
		filters["super_groups"] = groups
		flag.Filters = management.Encode(filters)
	}
	flag.Links.Features = links
	return Flags(s).saveLinked(tx, st, flag)
}

// compactOf is a JSON value in one form: its members by name, null for none.
func compactOf(raw json.RawMessage) []byte {
	var v any
	_ = json.Unmarshal(raw, &v) // what cannot be read is null
	return management.Encode(v)
}

// setLink puts a link into a list, or in the place of the one with its id.
func setLink(list []FlagLink, link FlagLink) []FlagLink {
	return append(dropLink(list, string(link.ID)), link)
}

// dropLink is a list without the link of an id.
func dropLink(list []FlagLink, id string) []FlagLink {
	return slices.DeleteFunc(slices.Clone(list), func(l FlagLink) bool { return string(l.ID) == id })
}

// Update changes a feature. put: all required fields have to be there.
func (s EarlyAccess) Update(ctx context.Context, st *management.Standing, id string, b management.Body, put bool) (*Feature, error) {
	v, err := FeatureChangeFields.Update(b, put)
	if err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Desk, func(tx Tx) (*Feature, error) {
		f, err := s.load(tx, st, id)
		if err != nil {
			return nil, err
		}
		before, err := s.show(tx, st, f)
		if err != nil {
			return nil, err
		}
		f.set(v)
		flag, err := Flags(s).loadFlag(tx, st, f.Flag)
		if err != nil {
			return nil, err
		}
		if err := s.attach(tx, st, f, flag); err != nil {
			return nil, err
		}
		return s.put(tx, st, f, before)
	})
}

// Delete takes a feature away for good. Its flag stays, without early access.
func (s EarlyAccess) Delete(ctx context.Context, st *management.Standing, id string) error {
	return s.Desk.Store.Write(ctx, func(tx Tx) error {
		f, err := s.load(tx, st, id)
		if err != nil {
			return err
		}
		before, err := s.show(tx, st, f)
		if err != nil {
			return err
		}
		flag, err := Flags(s).loadFlag(tx, st, f.Flag)
		if err != nil {
			return err
		}
		if err := s.saveAttached(tx, st, flag, json.RawMessage("null"), dropLink(flag.Links.Features, f.ID)); err != nil {
			return err
		}
		parent := management.ProjectParent(st.Project.ID)
		if err := tx.Delete(kindFeature, parent, f.ID); err != nil {
			return err
		}
		return s.Desk.Note(tx, st.Caller, parent, featureScope, f.ID, f.Name, before, nil)
	})
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
	return management.Read(ctx, &s.Desk, func(tx Tx) ([]PublicFeature, error) {
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
