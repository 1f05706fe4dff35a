package featureflags

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// Flags manages feature flags (§5.1). Its methods may be called from several goroutines. They
// return *management.Error for faults of the request; other errors are faults of the store.
type Flags struct{ *core }

// maxFlagKey limits the key of a flag or variant, in characters.
const maxFlagKey = 400

// maxChangeNote limits the note of a change, in characters.
const maxChangeNote = 500

// changeNote is the field for the reason of a change. It is stored with the version and in the log
// (spec/console.md N22).
var changeNote = management.Field{Name: "change_note", Type: management.Text, Null: true, Blank: true, MaxLength: maxChangeNote, Custom: true, Help: "reason for the change, stored with the version and in the activity log"}

// FlagFields are the writable fields of a flag.
var FlagFields = management.Fields{
	{Name: "key", Type: management.Text, Required: true, MaxLength: maxFlagKey, Help: "letters, digits, - and _; unique in the project"},
	{Name: "name", Type: management.Text, Null: true, Blank: true, Help: "description of the flag"},
	{Name: "filters", Type: management.Object, Custom: true, Help: "conditions, variants and payloads"},
	{Name: "active", Type: management.Bool},
	{Name: "archived", Type: management.Bool, Help: "true disables the flag; enabling an archived flag unarchives it"},
	{Name: "deleted", Type: management.Bool, Help: "true deletes the flag, false restores it"},
	{Name: "ensure_experience_continuity", Type: management.Bool, Null: true, Help: "keep a person's value when they sign in"},
	{Name: "rollback_conditions", Type: management.Any},
	{Name: "performed_rollback", Type: management.Bool, Null: true},
	{Name: "tags", Type: management.TextList, MaxLength: 255, Blank: true},
	{Name: "evaluation_tags", Type: management.TextList, MaxLength: 255, Custom: true, Help: "evaluation contexts that are also tags"},
	{Name: "evaluation_contexts", Type: management.TextList, MaxLength: 255, Help: "the flag is only evaluated for requests with one of these contexts"},
	{Name: "evaluation_contexts_match_mode", Type: management.Choice, Choices: []string{"any", "all"}},
	{Name: "analytics_dashboards", Type: management.IntList},
	{Name: "has_enriched_analytics", Type: management.Bool, Null: true},
	{Name: "creation_context", Type: management.Choice, Choices: []string{"feature_flags", "experiments", "surveys", "early_access_features", "web_experiments"}, Custom: true},
	{Name: "is_remote_configuration", Type: management.Bool, Null: true},
	{Name: "has_encrypted_payloads", Type: management.Bool, Null: true, Custom: true, Help: "not supported; true is an error"},
	{Name: "evaluation_runtime", Type: management.Choice, Choices: []string{"server", "client", "all", "both"}},
	{Name: "bucketing_identifier", Type: management.Choice, Null: true, Choices: []string{"distinct_id", "device_id"}},
	{Name: "bucketing_hash", Type: management.Choice, Null: true, Choices: []string{"sha1", "murmur3"}, Help: "null: that of the project"},
	{Name: "version", Type: management.Int, Null: true, Custom: true, Help: "version of the flag that was edited, to detect conflicts"},
	{Name: "original_flag", Type: management.Any, Custom: true, Help: "the flag before it was edited, to detect conflicts"},
	changeNote,
	{Name: "_create_in_folder", Type: management.Text, Null: true, Blank: true, Custom: true},
	{Name: "_should_create_usage_dashboard", Type: management.Bool, Custom: true, Help: "only on creation; false: do not create a usage dashboard"},
}

// resource returns the generic operations on flags, with the rules of flags as hooks.
func (s Flags) resource() management.Resource[Tx, storedFlag, Flag] {
	return management.NewResource(&s.Env, management.Spec[Tx, storedFlag, Flag]{
		Fields: FlagFields, Object: (*storedFlag).accessObject,
		// Unknown members of the body are refused or cause a warning (decision 30).
		Body: func(b *management.Body) error { return checkBody(b, flags.FlagPart) },
		Load: func(v *view, id string, _ *management.Body) (*storedFlag, error) {
			n, _ := strconv.ParseInt(id, 10, 64) // 0 is not the id of a flag
			return s.loadFlag(v.Tx, v.Scope, n)
		},
		// A new flag is active by default.
		New: func(*view) (*storedFlag, error) { return &storedFlag{Active: true}, nil },
		Rules: func(e *management.Edit[Tx, storedFlag]) error {
			// Only changes can conflict with changes of other users.
			if !e.IsNew {
				if err := s.checkConflict(e); err != nil {
					return err
				}
			}
			e.After.wantsDashboard = e.IsNew && e.Body != nil && wantsUsageDashboard(e.Values)
			return s.apply(e.Tx, e.Scope, e.After, e.Values)
		},
		Put: func(v *view, f *storedFlag) error {
			// The dashboard is created first, since the flag stores its id.
			if f.before == nil {
				if err := s.createUsageDashboard(v, f); err != nil {
					return err
				}
				return s.addFlag(v.Tx, v.Scope, f)
			}
			return s.saveFlag(v.Tx, v.Scope, f)
		},
		Show: func(v *view, f *storedFlag) (*Flag, error) { return s.newRenderer(v).render(f) },
	})
}

// pathOf returns the id of a flag as in the path of a request.
func pathOf(id int64) string { return strconv.FormatInt(id, 10) }

// Get returns a flag, deleted or not.
func (s Flags) Get(ctx context.Context, scope *management.Scope, id int64) (*Flag, error) {
	return s.flags.Get(ctx, scope, pathOf(id))
}

// Create creates a flag.
func (s Flags) Create(ctx context.Context, scope *management.Scope, b management.Body) (*Flag, error) {
	return s.flags.Create(ctx, scope, b)
}

// Update changes a flag. If put is set, the body must have all required fields.
func (s Flags) Update(ctx context.Context, scope *management.Scope, id int64, b management.Body, put bool) (*Flag, error) {
	return s.flags.Update(ctx, scope, pathOf(id), b, put)
}

// apply sets the fields marked Custom from the values of a request. The other fields of f are
// already set.
func (s Flags) apply(tx Tx, scope *management.Scope, f *storedFlag, v management.Values) error {
	f.note = v.Text("change_note")
	if v.Has("filters") {
		groups := groupsOf(v.Raw("filters"))
		switch {
		case f.before == nil && groups == nil:
			return errNoGroups()
		case f.before == nil && string(groups) == "[]": // decision 39
			return badFilters("Feature flags must have at least one condition set (group).")
		case groups != nil: // otherwise the stored filters stay (§5.1.2)
			f.Filters = v.Raw("filters")
		}
	}
	// Switching the flag on resets an earlier rollback.
	if v.Bool("active") && f.PerformedRollback != nil {
		f.PerformedRollback = new(bool)
	}
	if v.Bool("archived") && !v.Has("active") && f.before != nil { // an archived flag is off (spec/clients.md §7.2)
		f.Active = false
	}
	if v.Has("tags") {
		f.Tags = management.NormalizeTags(f.Tags)
		slices.Sort(f.Tags)
	}
	// evaluation_tags sets evaluation_contexts, with the rule that each of them must be a tag too.
	if v.Has("evaluation_tags") {
		f.Contexts = management.NormalizeTags(v.Texts("evaluation_tags"))
		if other := missingFrom(f.Tags, f.Contexts); len(other) > 0 {
			return management.Fault("", "Evaluation tags must be a subset of tags. Invalid evaluation tags: %s", strings.Join(other, ", "))
		}
	}
	if v.Bool("has_encrypted_payloads") {
		return management.Fault("has_encrypted_payloads", "Encrypted payloads are not supported by this server.")
	}
	if f.Runtime == "both" { // a former name of all
		f.Runtime = "all"
	}
	// Only the dashboards that were sent are checked: stored ones may be deleted meanwhile.
	for _, id := range v.Ints("analytics_dashboards") {
		exists, err := s.HasDashboard(tx, scope.Project.ID, id)
		if err == nil && !exists {
			err = management.ErrNoObject("analytics_dashboards", id)
		}
		if err != nil {
			return err
		}
	}
	// Fields that only the creation can set.
	if f.before == nil {
		f.Deleted, f.Context = false, v.Text("creation_context")
	}
	return nil
}

// missingFrom returns the strings that are not in list.
func missingFrom(list, texts []string) (out []string) {
	for _, text := range texts {
		if !slices.Contains(list, text) {
			out = append(out, text)
		}
	}
	return out
}

// groupsOf returns the conditions in filters, or nil if filters have no member groups.
func groupsOf(filters json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(filters, &members) // an error is impossible: the field is an object
	if members["groups"] == nil {
		return nil
	}
	return plainJSON(members["groups"])
}

// editingFields are the fields that control the write and are not part of the flag.
var editingFields = []string{"version", "original_flag", "change_note", "creation_context", "_create_in_folder", "_should_create_usage_dashboard"}

// checkConflict returns an error if another user has changed a field after the caller loaded the
// flag, and the caller is about to change the same field to a different value (§5.1.3). It compares
// three values of each field: the sent value, the value that the caller loaded (original_flag), and
// the stored value. It does nothing if the request has no version or no original_flag.
func (s Flags) checkConflict(e *management.Edit[Tx, storedFlag]) error {
	f, v := &e.Before, e.Values
	if !v.Has("version") || v.IsNull("version") || v.Int("version") == -1 || v.Int("version") == f.Version {
		return nil
	}
	// Without a valid original_flag, conflicts cannot be found.
	var original map[string]json.RawMessage
	if json.Unmarshal(v.Raw("original_flag"), &original) != nil || original == nil {
		return nil
	}
	flagView, err := s.newRenderer(e.View).render(f)
	if err != nil {
		return err
	}
	stored, err := management.JSONMembers(flagView)
	if err != nil {
		return err
	}
	for i := range FlagFields {
		name := FlagFields[i].Name
		sent, loaded, current := e.Body.Members[name], original[name], stored[name]
		if sent == nil || loaded == nil || current == nil || slices.Contains(editingFields, name) {
			continue
		}
		// All three values differ: both users have changed the field, and not in the same way.
		if !equalJSON(sent, loaded) && !equalJSON(current, loaded) && !equalJSON(sent, current) {
			editor := "another user"
			if u, err := e.Author(f.ModifiedBy); err != nil {
				return err
			} else if u != nil {
				editor = u.Email
			}
			return management.Clash("The feature flag was updated by %s since you started editing it. Please refresh and try again.", editor)
		}
	}
	return nil
}

// equalJSON reports whether two JSON values are equal, ignoring the names of cohorts, which are
// returned with flags but not stored.
func equalJSON(a, b json.RawMessage) bool { return bytes.Equal(plainJSON(a), plainJSON(b)) }

// plainJSON returns a JSON value in a form that can be compared: without the names of cohorts and
// with sorted members.
func plainJSON(raw json.RawMessage) []byte {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return raw
	}
	return management.Encode(withoutNames(v))
}

// withoutNames removes all members cohort_name from a decoded JSON value, in place.
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
