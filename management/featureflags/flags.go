package featureflags

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// resource returns the generic operations on flags, with the rules of flags as hooks.
func (s Flags) resource() resource.Resource[storeTx, storedflags.Flag, Flag] {
	return resource.NewResource(&s.Env, resource.Spec[storeTx, storedflags.Flag, Flag]{
		Fields: flagFields, Object: (*storedflags.Flag).AccessObject,
		// Unknown members of the body are refused or cause a warning (decision 30).
		Body: func(b *management.Body) error { return storedflags.CheckBody(b, flags.FlagPart) },
		Load: func(v *view, id string, _ *management.Body) (*storedflags.Flag, error) {
			n, _ := strconv.ParseInt(id, 10, 64) // 0 is not the id of a flag
			return s.stored.Load(v.Tx, v.Scope, n)
		},
		// A new flag is active by default.
		New: func(*view) (*storedflags.Flag, error) { return &storedflags.Flag{Active: true}, nil },
		Rules: func(e *resource.Edit[storeTx, storedflags.Flag]) error {
			// Only changes can conflict with changes of other users.
			if !e.IsNew {
				if err := s.checkConflict(e); err != nil {
					return err
				}
			}
			e.After.WantsDashboard = e.IsNew && e.Body != nil && wantsUsageDashboard(e.Values)
			return s.apply(e.Tx, e.Scope, e.After, e.Values)
		},
		Put: func(v *view, f *storedflags.Flag) error {
			// The dashboard is created first, since the flag stores its id.
			if f.Before == nil {
				if err := s.createUsageDashboard(v, f); err != nil {
					return err
				}
				return s.stored.Add(v.Tx, v.Scope, f)
			}
			return s.stored.Save(v.Tx, v.Scope, f)
		},
		Show: func(v *view, f *storedflags.Flag) (*Flag, error) { return s.newRenderer(v).render(f) },
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
func (s Flags) apply(tx storeTx, scope *management.Scope, f *storedflags.Flag, v management.Values) error {
	f.Note = v.Text("change_note")
	if v.Has("filters") {
		groups := groupsOf(v.Raw("filters"))
		switch {
		case f.Before == nil && groups == nil:
			return storedflags.ErrNoGroups()
		case f.Before == nil && string(groups) == "[]": // decision 39
			return storedflags.BadFilters("Feature flags must have at least one condition set (group).")
		case groups != nil: // otherwise the stored filters stay (§5.1.2)
			f.Filters = v.Raw("filters")
		}
	}
	// Switching the flag on resets an earlier rollback.
	if v.Bool("active") && f.PerformedRollback != nil {
		f.PerformedRollback = new(bool)
	}
	if v.Bool("archived") && !v.Has("active") && f.Before != nil { // an archived flag is off (spec/clients.md §7.2)
		f.Active = false
	}
	if v.Has("tags") {
		f.Tags = lists.NormalizeTags(f.Tags)
		slices.Sort(f.Tags)
	}
	// evaluation_tags sets evaluation_contexts, with the rule that each of them must be a tag too.
	if v.Has("evaluation_tags") {
		f.Contexts = lists.NormalizeTags(v.Texts("evaluation_tags"))
		if other := storedflags.MissingFrom(f.Tags, f.Contexts); len(other) > 0 {
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
	if f.Before == nil {
		f.Deleted, f.Context = false, v.Text("creation_context")
	}
	return nil
}

// groupsOf returns the conditions in filters, or nil if filters have no member groups.
func groupsOf(filters json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(filters, &members) // an error is impossible: the field is an object
	if members["groups"] == nil {
		return nil
	}
	return storedflags.PlainJSON(members["groups"])
}

// checkConflict returns an error if another user has changed a field after the caller loaded the
// flag, and the caller is about to change the same field to a different value (§5.1.3). It compares
// three values of each field: the sent value, the value that the caller loaded (original_flag), and
// the stored value. It also returns an error if another user has deleted the flag meanwhile and the
// request does not restore it, since the change would have no effect. It does nothing if the request
// has no version or no original_flag.
func (s Flags) checkConflict(e *resource.Edit[storeTx, storedflags.Flag]) error {
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
	if loaded := original["deleted"]; f.Deleted && loaded != nil && string(loaded) == "false" && !v.Has("deleted") {
		editor, err := lastEditor(e)
		return cmp.Or(err, error(management.Clash("The feature flag was deleted by %s since you started editing it.", editor)))
	}
	for i := range flagFields {
		name := flagFields[i].Name
		sent, loaded, current := e.Body.Members[name], original[name], stored[name]
		if sent == nil || loaded == nil || current == nil || slices.Contains(editingFields, name) {
			continue
		}
		// All three values differ: both users have changed the field, and not in the same way.
		if !storedflags.EqualJSON(sent, loaded) && !storedflags.EqualJSON(current, loaded) && !storedflags.EqualJSON(sent, current) {
			editor, err := lastEditor(e)
			if err != nil {
				return err
			}
			return management.Clash("The feature flag was updated by %s since you started editing it. Please refresh and try again.", editor)
		}
	}
	return nil
}

// lastEditor returns the email address of the user who made the stored version of a flag.
func lastEditor(e *resource.Edit[storeTx, storedflags.Flag]) (string, error) {
	u, err := e.Author(e.Before.ModifiedBy)
	if err != nil || u == nil {
		return "another user", err
	}
	return u.Email, nil
}
