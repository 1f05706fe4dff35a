package management

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
)

// FlagApprovals is the setting of a project that says which changes of its flags other users must
// approve first (spec/console.md N12).
type FlagApprovals struct {
	// Needed is the number of approvals that a change needs, 0 to 5. If it is 0, changes need no
	// approval.
	Needed int64 `json:"needed"`
	// Tags limits the protection to flags with at least one of them. If empty, all flags are
	// protected.
	Tags []string `json:"tags"`
	// SwitchOffFree allows switching a flag off without an approval. It is true by default.
	SwitchOffFree bool `json:"switch_off_free"`
}

// FlagApprovalsField is the project's field for FlagApprovals.
var FlagApprovalsField = Field{Name: "flag_approvals", Type: Object, Help: "object with needed (number of approvals, 0 to 5; 0: off), tags (only flags with one of these tags; empty: all flags) and switch_off_free (true: disabling a flag requires no approval); absent members have their defaults"}

// approvalFields are the members of FlagApprovalsField in a request.
var approvalFields = Fields{{Name: "needed", Type: Int, MaxValue: 5}, {Name: "tags", Type: TextList, MaxLength: 255}, {Name: "switch_off_free", Type: Bool}}

// maxApprovalTags is the greatest length of FlagApprovals.Tags.
const maxApprovalTags = 100

// ReadFlagApprovals reads the setting from a request. Absent members have their defaults, and
// unknown members are errors.
func ReadFlagApprovals(raw json.RawMessage) (out FlagApprovals, err error) {
	var b Body
	if err := json.Unmarshal(raw, &b.Members); err != nil {
		return out, CodedFault(CodeNotADict, FlagApprovalsField.Name, "Expected a dictionary of items.")
	}
	for _, name := range slices.Sorted(maps.Keys(b.Members)) {
		if !slices.ContainsFunc(approvalFields, func(f Field) bool { return f.Name == name }) {
			return out, Fault(FlagApprovalsField.Name, "%q is not a known member: use needed, tags or switch_off_free.", name)
		}
	}
	v, err := approvalFields.Change(b)
	if err != nil {
		return out, PrefixField(FlagApprovalsField.Name, err)
	}
	out = FlagApprovals{Needed: v.Int("needed"), Tags: NormalizeTags(v.Texts("tags")), SwitchOffFree: !v.Has("switch_off_free") || v.Bool("switch_off_free")}
	if len(out.Tags) > maxApprovalTags {
		return out, CodedFault(CodeMaxLength, FlagApprovalsField.Name+"__tags", "Ensure this field has no more than %d elements.", maxApprovalTags)
	}
	return out, nil
}

// Approvals returns the setting of the project, or the default.
func (m *ProjectMeta) Approvals() (FlagApprovals, error) {
	out := FlagApprovals{Tags: []string{}, SwitchOffFree: true}
	if raw := m.Settings[FlagApprovalsField.Name]; raw != nil {
		return out, json.Unmarshal(raw, &out)
	}
	return out, nil
}

// PrefixField puts field in front of the Field of an error of kind Invalid, for faults inside the
// value of that field. It returns all other errors unchanged.
func PrefixField(field string, err error) error {
	var fault *Error
	if errors.As(err, &fault) && fault.Kind == Invalid {
		inner := *fault
		inner.Field = field
		if fault.Field != "" {
			inner.Field += "__" + fault.Field
		}
		return &inner
	}
	return err
}
