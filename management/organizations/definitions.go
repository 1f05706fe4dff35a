package organizations

import (
	"context"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// Vocabulary is a kind of names that events bring, such as those of events, of which
// people say what they mean (clients.md §10).
type Vocabulary struct {
	// kind is Record.Kind: Parent is the project, ID the definition's. scope is what the
	// log calls one.
	kind, scope, both string
	// Fields are what can be said.
	Fields management.Fields
}

// The vocabularies of a project.
var (
	EventNames = Vocabulary{
		"event_definition", "EventDefinition", "An event cannot be both hidden and verified", remarkFields,
	}
	PropertyNames = Vocabulary{
		"property_definition", "PropertyDefinition", "A property cannot be both hidden and verified",
		append(slices.Clone(remarkFields), management.Field{
			Name: "property_type", Type: management.Choice, Null: true, Choices: []string{"DateTime", "String", "Numeric", "Boolean"},
			Help: "what its values are; null: as they were seen",
		}),
	}
)

const (
	maxDescription = 4096
	maxTag         = 255 // characters
	maxTags        = 100
	// maxRemarks is of how many names of a kind a project keeps something.
	maxRemarks = 20_000
)

var remarkFields = management.Fields{
	{Name: "description", Type: management.Text, Null: true, Blank: true, Max: maxDescription},
	{Name: "tags", Type: management.TextList, Max: maxTag},
	{Name: "verified", Type: management.Bool, Help: "true shows a hidden one again"},
	{Name: "hidden", Type: management.Bool, Help: "true: it is no longer verified"},
}

// Remark is what people say of a name. The zero one is that of which nothing is said.
type Remark struct {
	Description *string              `json:"description"`
	Tags        []string             `json:"tags"`
	Verified    bool                 `json:"verified"`
	VerifiedAt  *management.Stamp    `json:"verified_at"`
	VerifiedBy  *management.UserView `json:"verified_by"`
	Hidden      bool                 `json:"hidden"`
	Updated     *management.Stamp    `json:"updated_at"`
	UpdatedBy   *management.UserView `json:"updated_by"`
	// PropertyType is what values are said to be, nil: as they were seen.
	PropertyType *string `json:"-"`
	// forgotten is when the name was taken off the list, until it is seen again.
	forgotten time.Time
}

// remark is how one is kept.
type remark struct {
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

// Defined is a name that events have used.
type Defined struct {
	ID, Name string
	// Seen is when it was, the last time.
	Seen time.Time
}

// Gone reports whether a name was taken off the list and not seen since.
func (r *Remark) Gone(seen time.Time) bool { return !r.forgotten.IsZero() && !seen.After(r.forgotten) }

// Remarks are what people say of the names of a project, by the definitions' ids.
func (s Service) Remarks(ctx context.Context, project int64, of *Vocabulary) (map[string]Remark, error) {
	return management.Read(ctx, &s.Desk, func(tx Tx) (map[string]Remark, error) {
		list, _, err := tx.List(management.Query{Kind: of.kind, Parent: management.ProjectParent(project)})
		if err != nil {
			return nil, err
		}
		out, v := make(map[string]Remark, len(list)), management.View[Tx]{Tx: tx, Standing: &management.Standing{}}
		for i := range list {
			kept, err := management.Decode[remark](&list[i])
			if err != nil {
				return nil, err
			}
			if out[list[i].ID], err = kept.show(&v); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

func (r *remark) show(v *management.View[Tx]) (out Remark, err error) {
	out = Remark{
		Description: r.Description, Tags: r.Tags, Verified: r.Verified, VerifiedAt: r.VerifiedAt, Hidden: r.Hidden,
		Updated: r.Updated, PropertyType: r.PropertyType,
	}
	if r.Forgotten != nil {
		out.forgotten = r.Forgotten.Time
	}
	if out.VerifiedBy, err = v.Author(r.VerifiedBy); err == nil {
		out.UpdatedBy, err = v.Author(r.UpdatedBy)
	}
	return out, err
}

// Describe changes what is said of a name. Who verifies one shows it, and who hides one
// takes back that it is verified.
func (s Service) Describe(ctx context.Context, st *management.Standing, of *Vocabulary, d Defined, b management.Body) error {
	return s.changeRemark(ctx, st, of, d, func(was *remark, at management.Stamp) (*remark, error) {
		values, err := of.Fields.Change(b)
		if err != nil {
			return nil, err
		}
		if values.Bool("verified") && values.Bool("hidden") {
			return nil, management.Fault("", "%s", of.both)
		}
		now := *was
		now.Updated, now.UpdatedBy = &at, st.User.ID
		management.SetNull(values, "description", &now.Description)
		management.SetNull(values, "property_type", &now.PropertyType)
		if tags, there := management.Value[[]string](values, "tags"); there {
			if now.Tags = management.TidyTags(tags); len(now.Tags) > maxTags {
				return nil, management.Coded(management.CodeMaxLength, "tags", "Ensure this field has no more than %d elements.", maxTags)
			}
		}
		management.Set(values, "hidden", &now.Hidden)
		management.Set(values, "verified", &now.Verified)
		now.settle(values, st.User.ID, at)
		return &now, nil
	})
}

// settle makes of verified and hidden one of the two, and notes who verified.
func (r *remark) settle(values management.Values, by int64, at management.Stamp) {
	switch {
	case values.Bool("verified"):
		r.Hidden = false
	case values.Bool("hidden"):
		r.Verified = false
	}
	if !r.Verified {
		r.VerifiedAt, r.VerifiedBy = nil, 0
	} else if r.VerifiedAt == nil {
		r.VerifiedAt, r.VerifiedBy = &at, by
	}
}

// Forget takes a name off the list, with what is said of it, until it is seen again.
func (s Service) Forget(ctx context.Context, st *management.Standing, of *Vocabulary, d Defined) error {
	return s.changeRemark(ctx, st, of, d, func(_ *remark, at management.Stamp) (*remark, error) {
		return &remark{Tags: []string{}, Forgotten: &at}, nil
	})
}

// changeRemark keeps what change makes of what is said of a name.
func (s Service) changeRemark(ctx context.Context, st *management.Standing, of *Vocabulary, d Defined, change func(was *remark, at management.Stamp) (*remark, error)) error {
	_, err := management.Write(ctx, &s.Desk, func(tx Tx) (struct{}, error) {
		was, err := s.remark(tx, st, of, d)
		if err != nil {
			return struct{}{}, err
		}
		now, err := change(was, management.At(s.Desk.Now()))
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, s.keepRemark(tx, st, of, d, was, now)
	})
	return err
}

// remark is what is said of a name: nothing of one that was forgotten and came again.
func (s Service) remark(tx Tx, st *management.Standing, of *Vocabulary, d Defined) (*remark, error) {
	r, err := tx.Get(of.kind, management.ProjectParent(st.Project.ID), d.ID)
	if err != nil || r == nil {
		return &remark{Tags: []string{}}, err
	}
	kept, err := management.Decode[remark](r)
	if err != nil || kept.Forgotten == nil {
		return kept, err
	}
	if !d.Seen.After(kept.Forgotten.Time) {
		return nil, management.ErrNotFound()
	}
	return &remark{Tags: []string{}}, nil
}

func (s Service) keepRemark(tx Tx, st *management.Standing, of *Vocabulary, d Defined, was, now *remark) error {
	parent := management.ProjectParent(st.Project.ID)
	if was.Updated == nil { // perhaps the first
		_, n, err := tx.List(management.Query{Kind: of.kind, Parent: parent, Limit: 1})
		if err != nil {
			return err
		}
		if n >= maxRemarks {
			return management.Fault("", "At most %d names can be described.", maxRemarks)
		}
	}
	if err := tx.Put(&management.Record{Kind: of.kind, Parent: parent, ID: d.ID, Data: management.Encode(now)}); err != nil {
		return err
	}
	after := any(noted(now))
	if now.Forgotten != nil {
		after = nil
	}
	return s.Desk.Note(tx, st.Caller, parent, of.scope, d.ID, d.Name, noted(was), after)
}

// noted is what the log compares.
func noted(r *remark) map[string]any {
	return map[string]any{
		"description": r.Description, "tags": r.Tags, "verified": r.Verified, "hidden": r.Hidden, "property_type": r.PropertyType,
	}
}
