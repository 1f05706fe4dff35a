package featureflags

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// approval records that a change of a protected flag has been approved. It is set on a flag while
// an approved change request is applied to it.
type approval struct {
	// request is the id of the change request.
	request int64
	// approvers are the e-mail addresses of the users who approved it.
	approvers []string
}

// approvalSettings returns the approval settings of the scope's project: how many approvals a
// change of a flag needs, and of which flags.
func approvalSettings(scope *management.Scope) (management.FlagApprovals, error) {
	meta, err := management.MetaOfProject(scope.Project)
	if err != nil {
		return management.FlagApprovals{}, err
	}
	return meta.Approvals()
}

// needsApproval reports whether the settings require approval for changes of the flag. Flags that
// surveys create for themselves (Hidden) never do: they are in no list of flags, so no user could
// file a change request for one.
func (f *storedFlag) needsApproval(settings *management.FlagApprovals) bool {
	return settings.Needed > 0 && !f.Hidden && (len(settings.Tags) == 0 || slices.ContainsFunc(f.Tags, func(tag string) bool { return slices.Contains(settings.Tags, tag) }))
}

// checkApproval returns an error with the code approval_required if the change of the flag can
// alter an evaluation, the project requires approval, and the change has not been approved
// (spec/console.md N12). Every write of a flag passes through it (putFlag). New flags, changes by
// jobs, and changes of names, notes and links need no approval.
func (f *storedFlag) checkApproval(scope *management.Scope) error {
	if f.before == nil || f.approved != nil || f.job != nil {
		return nil
	}
	settings, err := approvalSettings(scope)
	if err != nil || !f.before.needsApproval(&settings) {
		return err
	}
	changed := f.changedRules()
	if !f.needsApproval(&settings) { // removing a protecting tag would let the next change pass without approval
		changed = append(changed, "tags")
	}
	switch {
	case len(changed) == 0:
		return nil
	case settings.SwitchOffFree && !f.Active && slices.Equal(changed, []string{"active"}):
		f.approvalExempt = true
		return nil
	}
	needed := "an approval"
	if settings.Needed > 1 {
		needed = fmt.Sprintf("%d approvals", settings.Needed)
	}
	return errApprovalRequired("This change to the feature flag %q requires %s: send it as the patch of POST /change_requests/.", f.before.Key, needed)
}

// errApprovalRequired returns a Forbidden error with the code approval_required.
func errApprovalRequired(format string, args ...any) *management.Error {
	return &management.Error{Kind: management.Forbidden, Code: "approval_required", Message: fmt.Sprintf(format, args...)}
}

// descriptiveMembers are the members of a flag's record that never affect an evaluation. Changes
// of only these members need no approval.
var descriptiveMembers = map[string]bool{"name": true, "version": true, "has_experiment": true}

// changedRules returns the sorted names of the members that differ from the loaded flag and can
// affect an evaluation. "archived" is appended last: it is metadata and not part of the record.
func (f *storedFlag) changedRules() (out []string) {
	before, _ := management.JSONMembers(f.before.record()) // both records are objects, so there is no error
	after, _ := management.JSONMembers(f.record())
	// Members may have been added as well as removed.
	all := maps.Clone(after)
	maps.Copy(all, before)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !descriptiveMembers[name] && !bytes.Equal(canonicalJSON(before[name]), canonicalJSON(after[name])) {
			out = append(out, name)
		}
	}
	if f.Archived != f.before.Archived {
		out = append(out, "archived")
	}
	return out
}

// canonicalJSON returns a normalized encoding of a JSON value for comparisons, with all digits of
// its numbers preserved. It returns nil if raw is nil.
func canonicalJSON(raw []byte) []byte {
	if raw == nil {
		return nil
	}
	return wire.MustEncode(withoutNames(wire.Value(raw)))
}

// logApproval adds to an entry of the activity log how the change was authorized: the approvers
// and their request, or the type "without approval" if SwitchOffFree exempted the change.
func (f *storedFlag) logApproval(d *management.ActivityDetail) {
	switch {
	case f.approvalExempt:
		text := "without approval"
		d.Type = &text
	case f.approved != nil:
		d.ApprovedBy, d.ChangeRequest = f.approved.approvers, f.approved.request
	}
}
