package organizations

import (
	"context"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Vocabulary is a kind of names that events use, such as event names, for which users can store
// descriptions (clients.md §10).
type Vocabulary struct {
	*core
	// kind is the Record.Kind: Parent is the project, ID the id of the definition. activityScope is
	// the Activity.Scope. conflictMessage is the error for a name that is both hidden and verified.
	kind, activityScope, conflictMessage string
	// fields are the writable fields of a description.
	fields management.Fields
}

func newEventNames(c *core) Vocabulary {
	return Vocabulary{c, "event_definition", "EventDefinition", "An event cannot be both hidden and verified", detailFields}
}

func newPropertyNames(c *core) Vocabulary {
	return Vocabulary{c, "property_definition", "PropertyDefinition", "A property cannot be both hidden and verified", propertyDetailFields}
}

// The limits of descriptions: their length in characters, and the number and length of tags.
const (
	maxDescription = 4096
	maxTag         = 255 // characters
	maxTags        = 100
	// maxDescribed is the greatest number of described names of a kind in a project.
	maxDescribed = 20_000
)

// propertyDetailFields are the writable fields of the description of a property.
var propertyDetailFields = append(slices.Clone(detailFields), management.Field{
	Name: "property_type", Type: management.Choice, Null: true, Choices: []string{"DateTime", "String", "Numeric", "Boolean"},
	Help: "type of the values; null: derived from captured values",
})

// detailFields are the writable fields of all descriptions.
var detailFields = management.Fields{
	{Name: "description", Type: management.Text, Null: true, Blank: true, MaxLength: maxDescription},
	{Name: "tags", Type: management.TextList, MaxLength: maxTag, Blank: true},
	{Name: "verified", Type: management.Bool, Help: "true: the definition is verified, and no longer hidden"},
	{Name: "hidden", Type: management.Bool, Help: "true: the definition is hidden, and no longer verified"},
}

// DefinitionDetails is the description of a name by users. The zero value is that of a name without
// description.
type DefinitionDetails struct {
	Description *string  `json:"description"`
	Tags        []string `json:"tags"`
	// Verified marks a name that a user has verified. VerifiedAt and VerifiedBy are null for other
	// names.
	Verified   bool                 `json:"verified"`
	VerifiedAt *management.Stamp    `json:"verified_at"`
	VerifiedBy *management.UserView `json:"verified_by"`
	// Hidden and Verified exclude each other.
	Hidden    bool                 `json:"hidden"`
	Updated   *management.Stamp    `json:"updated_at"`
	UpdatedBy *management.UserView `json:"updated_by"`
	// PropertyType is the declared type of the values; nil means the type of the values seen.
	PropertyType *string `json:"-"`
	// forgottenAt is when the name was removed from the list; the name is absent until an event
	// uses it after that time.
	forgottenAt time.Time
}

// storedDetails is the stored form of DefinitionDetails, with users by number.
type storedDetails struct {
	Description  *string           `json:"description,omitempty"`
	Tags         []string          `json:"tags"`
	Verified     bool              `json:"verified"`
	VerifiedAt   *management.Stamp `json:"verified_at,omitempty"`
	VerifiedBy   int64             `json:"verified_by,omitempty"`
	Hidden       bool              `json:"hidden"`
	PropertyType *string           `json:"property_type,omitempty"`
	Updated      *management.Stamp `json:"updated_at,omitempty"`
	UpdatedBy    int64             `json:"updated_by,omitempty"`
	Forgotten    *management.Stamp `json:"forgotten,omitempty"`
}

// DefinedName is a name that events have used.
type DefinedName struct {
	ID, Name string
	// SeenAt is the time of the last event that used it.
	SeenAt time.Time
}

// IsForgotten reports whether a name was removed from the list and has not been used since. seenAt
// is the time of its last use.
func (r *DefinitionDetails) IsForgotten(seenAt time.Time) bool {
	return !r.forgottenAt.IsZero() && !seenAt.After(r.forgottenAt)
}

// Details returns the descriptions of a project's names, by the ids of the definitions.
func (s Vocabulary) Details(ctx context.Context, project int64) (map[string]DefinitionDetails, error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (map[string]DefinitionDetails, error) {
		list, _, err := tx.List(management.Query{Kind: s.kind, Parent: management.ProjectParent(project)})
		if err != nil {
			return nil, err
		}
		out, v := make(map[string]DefinitionDetails, len(list)), resource.View[Tx]{Tx: tx, Scope: &management.Scope{}}
		for i := range list {
			stored, err := management.Decode[storedDetails](&list[i])
			if err != nil {
				return nil, err
			}
			if out[list[i].ID], err = stored.show(&v); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

// show converts the stored form, looking up the users.
func (r *storedDetails) show(v *resource.View[Tx]) (out DefinitionDetails, err error) {
	out = DefinitionDetails{
		Description: r.Description, Tags: r.Tags, Verified: r.Verified, VerifiedAt: r.VerifiedAt, Hidden: r.Hidden,
		Updated: r.Updated, PropertyType: r.PropertyType,
	}
	if r.Forgotten != nil {
		out.forgottenAt = r.Forgotten.Time
	}
	if out.VerifiedBy, err = v.Author(r.VerifiedBy); err == nil {
		out.UpdatedBy, err = v.Author(r.UpdatedBy)
	}
	return out, err
}

// Describe changes the description of a name. Setting verified clears hidden, and setting hidden
// clears verified; both at the same time are an error.
func (s Vocabulary) Describe(ctx context.Context, scope *management.Scope, d DefinedName, b management.Body) error {
	return s.change(ctx, scope, d, func(before *storedDetails, now management.Stamp) (*storedDetails, error) {
		values, err := s.fields.Change(b)
		if err != nil {
			return nil, err
		}
		if values.Bool("verified") && values.Bool("hidden") {
			return nil, management.Fault("", "%s", s.conflictMessage)
		}
		// Slices and pointers of before are replaced and not changed.
		after := *before
		after.Updated, after.UpdatedBy = &now, scope.User.ID
		management.SetNull(values, "description", &after.Description)
		management.SetNull(values, "property_type", &after.PropertyType)
		if tags, ok := management.Value[[]string](values, "tags"); ok {
			if after.Tags = lists.NormalizeTags(tags); len(after.Tags) > maxTags {
				return nil, management.CodedFault(management.CodeMaxLength, "tags", "Ensure this field has no more than %d elements.", maxTags)
			}
		}
		management.Set(values, "hidden", &after.Hidden)
		management.Set(values, "verified", &after.Verified)
		after.resolveVerified(values, scope.User.ID, now)
		return &after, nil
	})
}

// resolveVerified clears the one of verified and hidden that the body did not set, and records who
// verified the name and when.
func (r *storedDetails) resolveVerified(values management.Values, userID int64, now management.Stamp) {
	switch {
	case values.Bool("verified"):
		r.Hidden = false
	case values.Bool("hidden"):
		r.Verified = false
	}
	if !r.Verified {
		r.VerifiedAt, r.VerifiedBy = nil, 0
	} else if r.VerifiedAt == nil {
		r.VerifiedAt, r.VerifiedBy = &now, userID
	}
}

// Forget removes a name and its description from the list until an event uses it again.
func (s Vocabulary) Forget(ctx context.Context, scope *management.Scope, d DefinedName) error {
	return s.change(ctx, scope, d, func(_ *storedDetails, now management.Stamp) (*storedDetails, error) {
		// The record stays, in order to remember when the name was removed.
		return &storedDetails{Tags: []string{}, Forgotten: &now}, nil
	})
}

// change stores and logs the description that change returns. change must not modify before.
func (s Vocabulary) change(ctx context.Context, scope *management.Scope, d DefinedName, change func(before *storedDetails, now management.Stamp) (*storedDetails, error)) error {
	return s.Env.Store.Write(ctx, func(tx Tx) error {
		before, err := s.load(tx, scope, d)
		if err != nil {
			return err
		}
		after, err := change(before, management.NewStamp(s.Env.Now()))
		if err != nil {
			return err
		}
		return s.put(tx, scope, d, before, after)
	})
}

// load returns the description of a name. It is empty for a name without one, and for a name
// that was forgotten and used again; for a name that is still forgotten it returns ErrNotFound.
func (s Vocabulary) load(tx Tx, scope *management.Scope, d DefinedName) (*storedDetails, error) {
	stored, err := management.Found[storedDetails](tx.Get(s.kind, management.ProjectParent(scope.Project.ID), d.ID))
	switch {
	case err != nil:
		return nil, err
	case stored == nil:
		return &storedDetails{Tags: []string{}}, nil
	case stored.Forgotten == nil:
		return stored, nil
	}
	if !d.SeenAt.After(stored.Forgotten.Time) {
		return nil, management.ErrNotFound()
	}
	return &storedDetails{Tags: []string{}}, nil
}

// put stores and logs a description, and checks maxDescribed for new names.
func (s Vocabulary) put(tx Tx, scope *management.Scope, d DefinedName, old, details *storedDetails) error {
	parent := management.ProjectParent(scope.Project.ID)
	if old.Updated == nil { // may be the first description of this name
		_, n, err := tx.List(management.Query{Kind: s.kind, Parent: parent, Limit: 1})
		if err != nil {
			return err
		}
		if n >= maxDescribed {
			return management.Fault("", "At most %d names can be described.", maxDescribed)
		}
	}
	// The record has no Sort, since Details reads all records of a project.
	if err := tx.Put(&management.Record{Kind: s.kind, Parent: parent, ID: d.ID, Data: storage.Encode(details)}); err != nil {
		return err
	}
	after := any(auditDetails(details))
	// The log shows a forgotten name as deleted.
	if details.Forgotten != nil {
		after = nil
	}
	return s.Env.LogActivity(tx, scope.Caller, parent, s.activityScope, d.ID, d.Name, auditDetails(old), after)
}

// auditDetails returns the fields that the log compares.
func auditDetails(r *storedDetails) map[string]any {
	return map[string]any{
		"description": r.Description, "tags": r.Tags, "verified": r.Verified, "hidden": r.Hidden, "property_type": r.PropertyType,
	}
}
