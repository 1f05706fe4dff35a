package storedflags

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/approvals"
)

// ApprovalSettings returns the approval settings of the scope's project: how many approvals a
// change of a flag needs, and of which flags.
func ApprovalSettings(scope *management.Scope) (approvals.Settings, error) {
	meta, err := management.MetaOfProject(scope.Project)
	if err != nil {
		return approvals.Settings{}, err
	}
	return approvals.Of(&meta)
}

// NeedsApproval reports whether the settings require approval for changes of the flag. Flags that
// surveys create for themselves (Hidden) never do: they are in no list of flags, so no user could
// file a change request for one.
func (f *Flag) NeedsApproval(settings *approvals.Settings) bool {
	return settings.Needed > 0 && !f.Hidden && (len(settings.Tags) == 0 || slices.ContainsFunc(f.Tags, func(tag string) bool { return slices.Contains(settings.Tags, tag) }))
}

// ErrApprovalRequired returns a Forbidden error with the code approval_required.
func ErrApprovalRequired(format string, args ...any) *management.Error {
	return &management.Error{Kind: management.Forbidden, Code: "approval_required", Message: fmt.Sprintf(format, args...)}
}

// descriptiveMembers are the members of a flag's record that never affect an evaluation. Changes
// of only these members need no approval.
var descriptiveMembers = map[string]bool{"name": true, "version": true, "has_experiment": true}

// changedRules returns the sorted names of the members that differ from the loaded flag and can
// affect an evaluation. "archived" is appended last: it is metadata and not part of the record.
func (f *Flag) changedRules() (out []string) {
	before, _ := management.JSONMembers(f.Before.Record()) // both records are objects, so there is no error
	after, _ := management.JSONMembers(f.Record())
	// Members may have been added as well as removed.
	all := maps.Clone(after)
	maps.Copy(all, before)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !descriptiveMembers[name] && !bytes.Equal(canonicalJSON(before[name]), canonicalJSON(after[name])) {
			out = append(out, name)
		}
	}
	if f.Archived != f.Before.Archived {
		out = append(out, "archived")
	}
	return out
}
