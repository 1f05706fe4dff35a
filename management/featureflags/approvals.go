package featureflags

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// approval is why a flag may be changed that nobody may change alone: a request, and the
// addresses of who has approved it.
type approval struct {
	request   int64
	approvers []string
}

// approvalSettings say which changes of flags need an approval in the project of a standing.
func approvalSettings(scope *management.Scope) (management.FlagApprovals, error) {
	meta, err := management.MetaOfProject(scope.Project)
	if err != nil {
		return management.FlagApprovals{}, err
	}
	return meta.Approvals()
}

// needsApproval reports whether changes of a flag need an approval. What surveys make for
// themselves is not shown as a flag, and nobody could ask for its change.
func (f *storedFlag) needsApproval(settings *management.FlagApprovals) bool {
	return settings.Needed > 0 && !f.Hidden && (len(settings.Tags) == 0 || slices.ContainsFunc(f.Tags, func(tag string) bool { return slices.Contains(settings.Tags, tag) }))
}

// checkApproval refuses to change what somebody gets of a flag where others have to approve that
// and have not (spec/console.md N12). All that writes a flag comes through it (putFlag): a
// new flag passes, and so do names, notes and links.
func (f *storedFlag) checkApproval(scope *management.Scope) error {
	if f.before == nil || f.approved != nil || f.job != nil {
		return nil
	}
	settings, err := approvalSettings(scope)
	if err != nil || !f.before.needsApproval(&settings) {
		return err
	}
	changed := f.changedRules()
	if !f.needsApproval(&settings) { // else the next change would need none
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
	return errApprovalRequired("This change of the feature flag %q needs %s: POST /change_requests/ with the change as its patch.", f.before.Key, needed)
}

func errApprovalRequired(format string, args ...any) *management.Error {
	return &management.Error{Kind: management.Forbidden, Code: "approval_required", Message: fmt.Sprintf(format, args...)}
}

// descriptiveMembers are the members of a record in which a flag answers nobody otherwise.
var descriptiveMembers = map[string]bool{"name": true, "version": true, "has_experiment": true}

// changedRules are the members in which a flag may answer otherwise than it did.
func (f *storedFlag) changedRules() (out []string) {
	before, _ := management.JSONMembers(f.before.record()) // both are objects
	after, _ := management.JSONMembers(f.record())
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

// canonicalJSON is a JSON value in one form, with all digits of its numbers.
func canonicalJSON(raw []byte) []byte {
	if raw == nil {
		return nil
	}
	return wire.MustEncode(withoutNames(wire.Value(raw)))
}

// logApproval tells the log whether somebody has approved a change that needs it.
func (f *storedFlag) logApproval(d *management.ActivityDetail) {
	switch {
	case f.approvalExempt:
		text := "without approval"
		d.Type = &text
	case f.approved != nil:
		d.ApprovedBy, d.ChangeRequest = f.approved.approvers, f.approved.request
	}
}
