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
	request int64
	by      []string
}

// approvalsIn say which changes of flags need an approval in the project of a standing.
func approvalsIn(st *management.Standing) (management.FlagApprovals, error) {
	meta, err := management.MetaOfProject(st.Project)
	if err != nil {
		return management.FlagApprovals{}, err
	}
	return meta.Approvals()
}

// protected reports whether changes of a flag need an approval. What surveys make for
// themselves is not shown as a flag, and nobody could ask for its change.
func (f *storedFlag) protected(a *management.FlagApprovals) bool {
	return a.Needed > 0 && !f.Hidden && (len(a.Tags) == 0 || slices.ContainsFunc(f.Tags, func(tag string) bool { return slices.Contains(a.Tags, tag) }))
}

// gate refuses to change what somebody gets of a flag where others have to approve that
// and have not (spec/console.md N12). All that writes a flag comes through it (putFlag): a
// new flag passes, and so do names, notes and links.
func (f *storedFlag) gate(st *management.Standing) error {
	if f.was == nil || f.approved != nil || f.job != nil {
		return nil
	}
	a, err := approvalsIn(st)
	if err != nil || !f.was.protected(&a) {
		return err
	}
	changed := f.changedRules()
	if !f.protected(&a) { // else the next change would need none
		changed = append(changed, "tags")
	}
	switch {
	case len(changed) == 0:
		return nil
	case a.SwitchOffFree && !f.Active && slices.Equal(changed, []string{"active"}):
		f.free = true
		return nil
	}
	needed := "an approval"
	if a.Needed > 1 {
		needed = fmt.Sprintf("%d approvals", a.Needed)
	}
	return unapproved("This change of the feature flag %q needs %s: POST /change_requests/ with the change as its patch.", f.was.Key, needed)
}

func unapproved(format string, args ...any) *management.Error {
	return &management.Error{Kind: management.Forbidden, Code: "approval_required", Message: fmt.Sprintf(format, args...)}
}

// saidOnly are the members of a record in which a flag answers nobody otherwise.
var saidOnly = map[string]bool{"name": true, "version": true, "has_experiment": true}

// changedRules are the members in which a flag may answer otherwise than it did.
func (f *storedFlag) changedRules() (out []string) {
	was, _ := management.JSONMembers(f.was.record()) // both are objects
	is, _ := management.JSONMembers(f.record())
	all := maps.Clone(is)
	maps.Copy(all, was)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !saidOnly[name] && !bytes.Equal(exactly(was[name]), exactly(is[name])) {
			out = append(out, name)
		}
	}
	if f.Archived != f.was.Archived {
		out = append(out, "archived")
	}
	return out
}

// exactly is a JSON value in one form, with all digits of its numbers.
func exactly(raw []byte) []byte {
	if raw == nil {
		return nil
	}
	return wire.MustEncode(withoutNames(wire.Value(raw)))
}

// sayApproval tells the log whether somebody has approved a change that needs it.
func (f *storedFlag) sayApproval(d *management.ActivityDetail) {
	switch {
	case f.free:
		text := "without approval"
		d.Type = &text
	case f.approved != nil:
		d.ApprovedBy, d.ChangeRequest = f.approved.by, f.approved.request
	}
}
