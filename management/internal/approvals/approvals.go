package approvals

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

// Settings is the setting of a project that says which changes of its flags other users must
// approve first (spec/console.md N12).
type Settings struct {
	// Needed is the number of approvals that a change needs, 0 to 5. If it is 0, changes need no
	// approval.
	Needed int64 `json:"needed"`
	// Tags limits the protection to flags with at least one of them. If empty, all flags are
	// protected.
	Tags []string `json:"tags"`
	// SwitchOffFree allows switching a flag off without an approval. It is true by default.
	SwitchOffFree bool `json:"switch_off_free"`
}

// Field is the project's field for Settings.
var Field = management.Field{Name: "flag_approvals", Type: management.Object, Help: "object with needed (number of approvals, 0 to 5; 0: off), tags (only flags with one of these tags; empty: all flags) and switch_off_free (true: disabling a flag requires no approval); absent members have their defaults"}

// approvalFields are the members of Field in a request.
var approvalFields = management.Fields{{Name: "needed", Type: management.Int, MaxValue: 5}, {Name: "tags", Type: management.TextList, MaxLength: 255}, {Name: "switch_off_free", Type: management.Bool}}

// maxApprovalTags is the greatest length of Settings.Tags.
const maxApprovalTags = 100

// Read reads the setting from a request. Absent members have their defaults, and
// unknown members are errors.
func Read(raw json.RawMessage) (out Settings, err error) {
	var b management.Body
	if err := json.Unmarshal(raw, &b.Members); err != nil {
		return out, management.CodedFault(management.CodeNotADict, Field.Name, "Expected a dictionary of items.")
	}
	for _, name := range slices.Sorted(maps.Keys(b.Members)) {
		if !slices.ContainsFunc(approvalFields, func(f management.Field) bool { return f.Name == name }) {
			return out, management.Fault(Field.Name, "%q is not a known member: use needed, tags or switch_off_free.", name)
		}
	}
	v, err := approvalFields.Change(b)
	if err != nil {
		return out, resource.PrefixField(Field.Name, err)
	}
	out = Settings{Needed: v.Int("needed"), Tags: lists.NormalizeTags(v.Texts("tags")), SwitchOffFree: !v.Has("switch_off_free") || v.Bool("switch_off_free")}
	if len(out.Tags) > maxApprovalTags {
		return out, management.CodedFault(management.CodeMaxLength, Field.Name+"__tags", "Ensure this field has no more than %d elements.", maxApprovalTags)
	}
	return out, nil
}

// Of returns the setting of the project, or the default.
func Of(m *management.ProjectMeta) (Settings, error) {
	out := Settings{Tags: []string{}, SwitchOffFree: true}
	if raw := m.Settings[Field.Name]; raw != nil {
		return out, json.Unmarshal(raw, &out)
	}
	return out, nil
}
