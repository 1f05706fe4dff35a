package organizations

import (
	"context"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

// scopeObjects are the objects of a key's scopes. Each has a scope for reading and one for writing
// (§1.4).
var scopeObjects = []string{
	"action", "access_control", "activity_log", "annotation", "batch_export", "batch_import", "cohort", "dashboard",
	"dashboard_template", "early_access_feature", "error_tracking", "event_definition", "experiment", "experiment_saved_metric", "export", "feature_flag",
	"file_system", "file_system_shortcut", "group", "hog_function", "insight", "link", "notebook", "organization",
	"organization_member", "person", "persisted_folder", "plugin", "project", "property_definition", "query",
	"session_recording", "session_recording_playlist", "sharing_configuration", "subscription", "survey", "user",
	"user_interview_DO_NOT_USE", "webhook", "warehouse_view", "warehouse_table", "logs",
}

// errNoScope returns the error for an unknown scope. The message suggests the most similar scope:
// first by the whole name, then by the name of the object, then by a part of it.
func errNoScope(scope string) error {
	object, action, _ := strings.Cut(scope, ":")
	scopes := []string{allScopes}
	for _, o := range scopeObjects {
		scopes = append(scopes, o+":read", o+":write")
	}
	// near is the most likely object if the whole scope resembles no existing one.
	suggestion := flags.Nearest(scope, scopes)
	near := object
	if !slices.Contains(scopeObjects, object) {
		near = flags.Nearest(object, scopeObjects)
	}
	if word := strings.TrimSuffix(object, "s"); near == "" && len(word) > 3 { // part of a name, such as flag
		if i := slices.IndexFunc(scopeObjects, func(o string) bool { return strings.Contains(o, word) }); i >= 0 {
			near = scopeObjects[i]
		}
	}
	switch {
	case suggestion == "" && near != "" && action != "read" && action != "write":
		suggestion = near + ":read or " + near + ":write"
	case suggestion == "" && near != "":
		suggestion = near + ":" + action
	case suggestion == "":
		return management.Fault("scopes", "Invalid scope: %s. There are * and, each with :read and :write: %s.", plain.ShortText(scope), strings.Join(scopeObjects, ", "))
	}
	return management.Fault("scopes", "Invalid scope: %s. Did you mean %s?", plain.ShortText(scope), suggestion)
}

// isScope reports whether a key may list a scope.
func isScope(scope string) bool {
	object, action, _ := strings.Cut(scope, ":")
	return scope == allScopes || (action == "read" || action == "write") && slices.Contains(scopeObjects, object)
}

// maxKeys is the greatest number of personal keys of a user, except keys of definitions files
// (§1.10).
const maxKeys = 10

// maxKeyLabel is the greatest length of a key's label, in characters (§1.3).
const maxKeyLabel = 40

// keyFields are the writable fields of a personal key.
var keyFields = management.Fields{
	{Name: "label", Type: management.Text, Required: true, MaxLength: maxKeyLabel, Custom: true},
	{Name: "scopes", Type: management.TextList, Required: true, MaxLength: 100, Custom: true, Help: "scopes such as feature_flag:read, or * for all; at most those of the calling key"},
	{Name: "scoped_teams", Type: management.IntList, Required: true, Custom: true, Help: "ids of the only projects that the key can access; empty: all projects of the user"},
	{Name: "scoped_organizations", Type: management.TextList, Required: true, MaxLength: 64, Custom: true, Help: "ids of the only organizations that the key can access; empty: all organizations of the user"},
}

// viewKey returns the form of a key in responses, without its value. Lists are never null, and a
// key without scopes, which has all, lists "*".
func viewKey(k *management.KeyRecord) *APIKey {
	out := &APIKey{
		ID: k.ID, Label: k.Label, Mask: k.Mask, CreatedAt: management.NewStamp(k.CreatedAt), LastUsedAt: management.NewStamp(k.LastUsedAt), User: k.User,
		Scopes: k.Scopes, Projects: k.Projects, Organizations: k.Organizations, LastRolledAt: management.NewStamp(k.LastRolledAt),
	}
	if out.Scopes == nil {
		out.Scopes = []string{allScopes}
	}
	if out.Projects == nil {
		out.Projects = []int64{}
	}
	if out.Organizations == nil {
		out.Organizations = []string{}
	}
	return out
}

// PersonalKeys manages the caller's personal keys (§1.10). A new key has at most the rights of the
// calling key. Only the responses that create and roll a key have the key itself.
type PersonalKeys struct {
	resource.Resource[Tx, ownKey, APIKey]
	env *management.Env[Tx]
}

// keyResource returns the resource of the caller's personal keys. The log has them under the
// caller's current organization, since keys belong to no organization.
func (s *core) keyResource() resource.Resource[Tx, ownKey, APIKey] {
	return resource.NewResource(&s.Env, resource.Spec[Tx, ownKey, APIKey]{
		ActivityScope: keyActivityScope, Fields: keyFields,
		Header: func(scope *management.Scope, k *ownKey) resource.RecordHeader {
			return resource.RecordHeader{Parent: scope.CurrentOrganization(), ID: k.ID, Title: k.Label}
		},
		All: func(v *view) ([]ownKey, error) {
			keys, err := v.Tx.Keys(v.User.ID)
			out := make([]ownKey, len(keys))
			for i := range keys {
				out[i].KeyRecord = keys[i]
			}
			return out, err
		},
		Load: func(v *view, id string, _ *management.Body) (*ownKey, error) {
			// The key of a session may have no id; then no key is found.
			if id == management.CurrentRef {
				id = v.Key.ID
			}
			// A key may read its own record to find out its rights.
			if id != v.Key.ID {
				if err := v.Require("user:read"); err != nil {
					return nil, err
				}
			}
			k, err := v.Tx.KeyByID(id)
			// Secret keys and keys of other users are treated as not existing.
			if err != nil || k == nil || k.Secret || k.User != v.User.ID {
				return nil, err
			}
			return &ownKey{KeyRecord: *k}, nil
		},
		AuthorizeChange: checkKeyChange,
		New: func(v *view) (*ownKey, error) {
			return &ownKey{KeyRecord: management.KeyRecord{ID: management.RandomText(24), User: v.User.ID, CreatedAt: s.Env.Now()}}, nil
		},
		Rules:  keyRules,
		Put:    func(v *view, k *ownKey) error { return v.Tx.PutKey(&k.KeyRecord) },
		Delete: func(v *view, k *ownKey) error { return v.Tx.DeleteKey(k.ID) },
		Show: func(_ *view, k *ownKey) (*APIKey, error) {
			out := viewKey(&k.KeyRecord)
			if k.value != "" {
				out.Value = &k.value
			}
			return out, nil
		},
		Audit: func(k *ownKey) any { return viewKey(&k.KeyRecord) },
	})
}

// keyActivityScope is the Activity.Scope of keys.
const keyActivityScope = "PersonalAPIKey"

// checkKeyChange refuses changes of a key that the calling key may not change. A key can be
// changed, rolled and deleted with itself or with a key that has at least its rights, so that a
// leaked restricted key cannot lock its owner out. Keys of a definitions file must be changed
// there.
func checkKeyChange(v *view, k *ownKey) error {
	switch {
	case k.Origin != "":
		return errFromFile("key", k.Origin)
	case k.ID != v.Key.ID:
		return checkKeyWithin(v.Caller, &k.KeyRecord)
	}
	return nil
}

// keyRules apply a body to a key. A new key gets a random value.
func keyRules(e *resource.Edit[Tx, ownKey]) error {
	if err := changeKey(e.Tx, &e.After.KeyRecord, e.Scope, e.Values); err != nil || !e.IsNew {
		return err
	}
	if err := checkKeyLimit(e.Tx, e.User.ID); err != nil {
		return err
	}
	e.After.renew()
	return nil
}

// checkKeyLimit returns an error if a user already has maxKeys keys.
func checkKeyLimit(tx Tx, user int64) error {
	keys, err := tx.Keys(user)
	if err != nil {
		return err
	}
	// Keys of definitions files do not count, since the user cannot delete them.
	own := slices.DeleteFunc(keys, func(k management.KeyRecord) bool { return k.Origin != "" })
	if len(own) >= maxKeys {
		return management.Fault("", "You can only have %d personal API keys. Remove an existing key before creating a new one.", maxKeys)
	}
	return nil
}

// renew generates a new random value for the key.
func (k *ownKey) renew() {
	k.value = NewPersonalKey()
	k.Hash, k.Mask = management.HashKey(k.value), management.MaskKey(k.value)
}

// Roll replaces the value of a key. The old value is invalid from then on.
func (s PersonalKeys) Roll(ctx context.Context, scope *management.Scope, id string) (*APIKey, error) {
	return resource.RunAction(ctx, s.Resource, scope, id, func(e *resource.Edit[Tx, ownKey]) error {
		// Sessions that were created from the key end, since they refer to the old hash.
		e.After.LastRolledAt = s.env.Now()
		e.After.renew()
		return nil
	})
}

// NewPersonalKey returns a random personal key (§1.1).
func NewPersonalKey() string { return "phx_" + management.RandomText(35) }

// changeKey applies the fields of a body to a key. The key's scopes must exist, and its projects
// and organizations must be accessible to the user.
func changeKey(tx Tx, k *management.KeyRecord, scope *management.Scope, v management.Values) error {
	management.Set(v, "label", &k.Label)
	changed := false
	for _, list := range []struct {
		field string
		set   func() error
	}{
		{"scopes", func() error { return setKeyScopes(k, v.Texts("scopes")) }},
		{"scoped_teams", func() error { return setKeyProjects(tx, k, scope, v.Ints("scoped_teams")) }},
		{"scoped_organizations", func() error { return setKeyOrganizations(k, scope, v.Texts("scoped_organizations")) }},
	} {
		if !v.Has(list.field) {
			continue
		}
		changed = true
		if err := list.set(); err != nil {
			return err
		}
	}
	// Only the result of all three fields together shows whether the key has too many rights. A
	// change of the label needs no check.
	if changed {
		return checkKeyWithin(scope.Caller, k)
	}
	return nil
}

func setKeyScopes(k *management.KeyRecord, scopes []string) error {
	k.Scopes = scopes
	if len(scopes) == 0 {
		return management.CodedFault("empty", "scopes", "This list may not be empty.")
	}
	for _, keyScope := range scopes {
		if !isScope(keyScope) {
			return errNoScope(keyScope)
		}
	}
	return nil
}

func setKeyProjects(tx Tx, k *management.KeyRecord, scope *management.Scope, projects []int64) error {
	k.Projects = projects
	for _, id := range projects {
		p, err := tx.Project(id)
		if err != nil {
			return err
		}
		// Inaccessible projects are reported like projects that do not exist.
		if p == nil || !scope.CanReach(p) {
			return management.Fault("scoped_teams", "You must be a member of all teams that you are scoping the key to.")
		}
	}
	return nil
}

func setKeyOrganizations(k *management.KeyRecord, scope *management.Scope, organizations []string) error {
	k.Organizations = nil
	for _, text := range organizations {
		id, ok := management.NormalizeUUID(text)
		if !ok {
			return management.Fault("scoped_organizations", "Invalid organization UUID")
		}
		if scope.Caller.Level(id) == 0 {
			return management.Fault("scoped_organizations", "You must be a member of all organizations that you are scoping the key to.")
		}
		k.Organizations = append(k.Organizations, id)
	}
	return nil
}

// checkKeyWithin returns an error if a key has more rights than the calling key (decision 19).
func checkKeyWithin(c *management.Caller, k *management.KeyRecord) error {
	if c.HasAllScopes() {
		return nil
	}
	if k.Scopes == nil { // an old key, whose lists do not limit it
		k = &management.KeyRecord{Scopes: []string{allScopes}}
	}
	for _, keyScope := range k.Scopes {
		if err := c.Require(keyScope); err != nil {
			return err
		}
	}
	// A key without a list opens all projects, so a restricted caller must set one.
	if len(c.Key.Projects) > 0 {
		if len(k.Projects) == 0 {
			return management.Denied("API keys with scoped projects can only make keys that are scoped to the same projects.")
		}
		for _, id := range k.Projects {
			if !slices.Contains(c.Key.Projects, id) {
				return management.Denied("API key does not have access to the requested project: ID %d.", id)
			}
		}
	}
	// The same applies to organizations.
	if len(c.Key.Organizations) > 0 {
		if len(k.Organizations) == 0 {
			return management.Denied("API keys with scoped organizations can only make keys that are scoped to the same organizations.")
		}
		for _, id := range k.Organizations {
			if !c.CanOpenOrganization(id) {
				return management.Denied("API key does not have access to the requested organization: ID %s.", id)
			}
		}
	}
	return nil
}
