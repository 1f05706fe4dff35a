package featureflags

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// Flags are feature flags (§5.1).
type Flags struct{ *core }

// maxFlagKey is how long the key of a flag or a variant may be, in characters.
const maxFlagKey = 400

// FlagFields are the writable fields of a flag.
var FlagFields = management.Fields{
	{Name: "key", Type: management.Text, Required: true, Max: maxFlagKey, Help: "letters, digits, - and _; unique in the project"},
	{Name: "name", Type: management.Text, Null: true, Blank: true, Help: "what it is for"},
	{Name: "filters", Type: management.Object, Help: "conditions, variants and payloads"},
	{Name: "active", Type: management.Bool},
	{Name: "archived", Type: management.Bool, Help: "only of a flag that is not active"},
	{Name: "deleted", Type: management.Bool, Help: "deletes it, or brings it back"},
	{Name: "ensure_experience_continuity", Type: management.Bool, Null: true, Help: "keep the answer when somebody signs in"},
	{Name: "rollback_conditions", Type: management.Any},
	{Name: "performed_rollback", Type: management.Bool, Null: true},
	{Name: "tags", Type: management.TextList, Max: 255},
	{Name: "evaluation_tags", Type: management.TextList, Max: 255, Help: "evaluation_contexts that are tags too"},
	{Name: "evaluation_contexts", Type: management.TextList, Max: 255, Help: "answer only requests that name one of them"},
	{Name: "evaluation_contexts_match_mode", Type: management.Choice, Choices: []string{"any", "all"}},
	{Name: "analytics_dashboards", Type: management.IntList},
	{Name: "has_enriched_analytics", Type: management.Bool, Null: true},
	{Name: "creation_context", Type: management.Choice, Choices: []string{"feature_flags", "experiments", "surveys", "early_access_features", "web_experiments"}},
	{Name: "is_remote_configuration", Type: management.Bool, Null: true},
	{Name: "has_encrypted_payloads", Type: management.Bool, Null: true, Help: "not supported: true is refused"},
	{Name: "evaluation_runtime", Type: management.Choice, Choices: []string{"server", "client", "all", "both"}},
	{Name: "bucketing_identifier", Type: management.Choice, Null: true, Choices: []string{"distinct_id", "device_id"}},
	{Name: "bucketing_hash", Type: management.Choice, Null: true, Choices: []string{"sha1", "murmur3"}, Help: "null: the project's"},
	{Name: "version", Type: management.Int, Null: true, Help: "the version that was edited, for finding conflicts"},
	{Name: "original_flag", Type: management.Any, Help: "the flag as it was before it was edited, for finding conflicts"},
	{Name: "_create_in_folder", Type: management.Text, Null: true, Blank: true},
	{Name: "_should_create_usage_dashboard", Type: management.Bool},
}

// Get returns a flag, also one that is deleted.
func (s Flags) Get(ctx context.Context, st *management.Standing, id int64) (*Flag, error) {
	return management.Read(ctx, &s.Desk, func(tx Tx) (*Flag, error) {
		f, err := s.loadFlag(tx, st, id)
		if err != nil {
			return nil, err
		}
		return s.look(tx, st).flag(f)
	})
}

// Create makes a flag.
func (s Flags) Create(ctx context.Context, st *management.Standing, b management.Body) (*Flag, error) {
	if err := checkBody(&b, flags.FlagPart); err != nil {
		return nil, err
	}
	v, err := FlagFields.Create(b)
	if err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Desk, func(tx Tx) (*Flag, error) {
		f := &storedFlag{Active: true}
		if err := s.apply(tx, st, f, v); err != nil {
			return nil, err
		}
		f.Deleted, f.Context = false, v.Text("creation_context")
		if err := s.addFlag(tx, st, f); err != nil {
			return nil, err
		}
		return s.look(tx, st).flag(f)
	})
}

// Update changes a flag. put: all required fields have to be there.
func (s Flags) Update(ctx context.Context, st *management.Standing, id int64, b management.Body, put bool) (*Flag, error) {
	return management.Write(ctx, &s.Desk, func(tx Tx) (*Flag, error) {
		f, err := s.loadFlag(tx, st, id)
		if err != nil {
			return nil, err
		}
		if err := checkBody(&b, flags.FlagPart); err != nil {
			return nil, err
		}
		v, err := FlagFields.Update(b, put)
		if err != nil {
			return nil, err
		}
		if err := s.conflict(tx, st, f, v, b); err != nil {
			return nil, err
		}
		if err := s.apply(tx, st, f, v); err != nil {
			return nil, err
		}
		if err := s.saveFlag(tx, st, f); err != nil {
			return nil, err
		}
		return s.look(tx, st).flag(f)
	})
}

// apply puts what was sent into a flag.
func (s Flags) apply(tx Tx, st *management.Standing, f *storedFlag, v management.Values) error {
	management.Set(v, "key", &f.Key)
	if v.Has("name") {
		f.Name = v.Text("name")
	}
	if v.Has("filters") {
		groups := groupsOf(v.Raw("filters"))
		switch {
		case f.was == nil && (groups == nil || string(groups) == "[]"):
			return errNoGroups()
		case groups != nil: // else what is stored stays (§5.1.2)
			f.Filters = v.Raw("filters")
		}
	}
	management.Set(v, "active", &f.Active)
	management.Set(v, "archived", &f.Archived)
	management.Set(v, "deleted", &f.Deleted)
	management.SetNull(v, "ensure_experience_continuity", &f.Continuity)
	management.SetNull(v, "performed_rollback", &f.PerformedRollback)
	if v.Has("rollback_conditions") {
		f.Rollback = v.Raw("rollback_conditions")
	}
	if v.Bool("active") && f.PerformedRollback != nil {
		*f.PerformedRollback = false
	}
	if v.Has("tags") {
		f.Tags = management.TidyTags(v.Texts("tags"))
		slices.Sort(f.Tags)
	}
	management.Set(v, "evaluation_contexts", &f.Contexts)
	if v.Has("evaluation_tags") {
		f.Contexts = management.TidyTags(v.Texts("evaluation_tags"))
		if other := missingFrom(f.Tags, f.Contexts); len(other) > 0 {
			return management.Fault("", "Evaluation tags must be a subset of tags. Invalid evaluation tags: %s", strings.Join(other, ", "))
		}
	}
	management.Set(v, "evaluation_contexts_match_mode", &f.ContextsMatch)
	if v.Has("has_enriched_analytics") {
		f.Enriched = v.Bool("has_enriched_analytics")
	}
	if v.Has("is_remote_configuration") {
		f.RemoteConfig = v.Bool("is_remote_configuration")
	}
	if v.Bool("has_encrypted_payloads") {
		return management.Fault("has_encrypted_payloads", "Encrypted payloads are not supported by this server.")
	}
	management.Set(v, "evaluation_runtime", &f.Runtime)
	if f.Runtime == "both" { // an older word for all
		f.Runtime = "all"
	}
	if v.Has("bucketing_identifier") {
		f.Bucketing = v.Text("bucketing_identifier")
	}
	if v.Has("bucketing_hash") {
		f.Hash = v.Text("bucketing_hash")
	}
	if v.Has("analytics_dashboards") {
		f.Dashboards = v.Ints("analytics_dashboards")
		for _, id := range f.Dashboards {
			there, err := s.HasDashboard(tx, st.Project.ID, id)
			if err == nil && !there {
				err = management.ErrNoObject("analytics_dashboards", id)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// missingFrom are the texts that a list lacks.
func missingFrom(list, texts []string) (out []string) {
	for _, text := range texts {
		if !slices.Contains(list, text) {
			out = append(out, text)
		}
	}
	return out
}

// groupsOf are the conditions of filters, nil where they say nothing of any.
func groupsOf(filters json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(filters, &members) // the field is an object
	if members["groups"] == nil {
		return nil
	}
	return plainJSON(members["groups"])
}

// editing are the fields that say how to write, not what.
var editing = []string{"version", "original_flag", "creation_context", "_create_in_folder", "_should_create_usage_dashboard"}

// conflict looks whether somebody else has changed what the caller changes, since
// the caller has loaded the flag (§5.1.3).
func (s Flags) conflict(tx Tx, st *management.Standing, f *storedFlag, v management.Values, b management.Body) error {
	if !v.Has("version") || v.Null("version") || v.Int("version") == -1 || v.Int("version") == f.Version {
		return nil
	}
	var original map[string]json.RawMessage
	if json.Unmarshal(v.Raw("original_flag"), &original) != nil || original == nil {
		return nil
	}
	look := s.look(tx, st)
	shown, err := look.flag(f)
	if err != nil {
		return err
	}
	stored, err := management.JSONMembers(shown)
	if err != nil {
		return err
	}
	for i := range FlagFields {
		name := FlagFields[i].Name
		sent, was, is := b.Members[name], original[name], stored[name]
		if sent == nil || was == nil || is == nil || slices.Contains(editing, name) {
			continue
		}
		if !sameJSON(sent, was) && !sameJSON(is, was) && !sameJSON(sent, is) {
			by := "another user"
			if u, err := look.user(f.ModifiedBy); err != nil {
				return err
			} else if u != nil {
				by = u.Email
			}
			return management.Clash("The feature flag was updated by %s since you started editing it. Please refresh and try again.", by)
		}
	}
	return nil
}

// sameJSON compares two JSON values without what is only shown in flags.
func sameJSON(a, b json.RawMessage) bool { return bytes.Equal(plainJSON(a), plainJSON(b)) }

func plainJSON(raw json.RawMessage) []byte {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return raw
	}
	return management.Encode(withoutNames(v))
}

func withoutNames(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "cohort_name")
		for name := range v {
			v[name] = withoutNames(v[name])
		}
	case []any:
		for i := range v {
			v[i] = withoutNames(v[i])
		}
	}
	return v
}
