package changes

import (
	"context"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// Approve records the caller's approval of one revision of an open request. The body contains the
// revision (voteFields): the call fails with the code revision_changed if the request has been
// edited since. Authors and editors of the request get the error own_change.
func (s Requests) Approve(ctx context.Context, scope *management.Scope, id string, b management.Body) (*ChangeRequest, error) {
	return s.vote(ctx, scope, id, b, voteApprove)
}

// Reject records the caller's rejection of one revision, as in Approve, and closes the request.
// An edit opens it again.
func (s Requests) Reject(ctx context.Context, scope *management.Scope, id string, b management.Body) (*ChangeRequest, error) {
	return s.vote(ctx, scope, id, b, voteReject)
}

// vote replaces the caller's earlier vote on the request, if there is one.
func (s Requests) vote(ctx context.Context, scope *management.Scope, id string, b management.Body, vote string) (*ChangeRequest, error) {
	values, err := voteFields.Create(b)
	if err != nil {
		return nil, err
	}
	return s.editOpen(ctx, scope, id, func(e *requestEdit, f *storedflags.Flag) error {
		r, me := e.After, e.User.ID
		switch {
		case vote == voteApprove && r.isAuthor(me):
			return &management.Error{Kind: management.Forbidden, Code: "own_change", Message: "The author of a change request cannot approve it: another member must approve it."}
		case values.Int("revision") != r.Revision:
			return &management.Error{Kind: management.Conflict, Code: "revision_changed", Field: "revision", Message: "The change request has been edited in the meantime: review it again."}
		}
		// A user has one vote: replace an earlier one.
		r.Votes = slices.DeleteFunc(slices.Clone(r.Votes), func(v storedVote) bool { return v.User == me })
		r.Votes = append(r.Votes, storedVote{me, vote, management.NewStamp(s.Env.Now())})
		if vote == voteReject {
			r.State = requestRejected
			return s.logRequest(e, f.Key, "change_rejected")
		}
		return s.logRequest(e, f.Key, "change_approved")
	})
}

// Withdraw closes an open request permanently. Only its author, its editors and administrators of
// the project may call it.
func (s Requests) Withdraw(ctx context.Context, scope *management.Scope, id string) (*ChangeRequest, error) {
	return resource.RunAction(ctx, s.Resource, scope, id, func(e *requestEdit) error {
		if e.After.State != requestOpen {
			return e.After.errNotOpen()
		}
		if !e.After.isAuthor(e.User.ID) && !e.CanAdminister() {
			return management.Denied("Only the author of a change request or an administrator can withdraw it.")
		}
		f, err := s.findFlag(e.View, management.Editor, e.After)
		if err != nil {
			return err
		}
		key := "" // stays empty if the flag is deleted
		if f != nil {
			key = f.Key
		}
		e.After.State, e.After.UpdatedAt = requestWithdrawn, management.NewStamp(s.Env.Now())
		return s.logRequest(e, key, "change_withdrawn")
	})
}

// Apply applies the patch of a request that has enough approvals to its flag. The change is saved
// in the name of the request's author, who must still have permission to make it. It fails with a
// conflict if the flag was changed in the meantime (checkConflict).
func (s Requests) Apply(ctx context.Context, scope *management.Scope, id string) (*ChangeRequest, error) {
	return s.editOpen(ctx, scope, id, func(e *requestEdit, f *storedflags.Flag) error {
		r := e.After
		a, err := storedflags.ApprovalSettings(e.Scope)
		if err != nil {
			return err
		}
		approvers := r.approvers()
		if f.NeedsApproval(&a) && len(approvers) < int(a.Needed) {
			return storedflags.ErrApprovalRequired("The change request has %d of the %d approvals that it needs.", len(approvers), a.Needed)
		}
		if err := s.checkConflict(e, f); err != nil {
			return err
		}
		// The author may have lost access since the request was filed.
		author, err := records.NewUserScope(e.Tx, r.Author, e.Project)
		if err == nil && author == nil {
			err = management.Denied("The author of this change request no longer has access to the project.")
		}
		if err == nil {
			err = author.RequireAccess(management.Editor, f.AccessObject())
		}
		if err != nil {
			return err
		}
		f.Note, f.Approved = r.Note, &storedflags.Approval{Request: r.ID}
		if f.Approved.Approvers, err = emailsOf(e.View, approvers); err != nil {
			return err
		}
		if err := s.Flags.ApplyPatch(e.Tx, author, f, r.Patch); err != nil {
			return err
		}
		r.State = requestApplied
		return s.stored.Save(e.Tx, author, f)
	})
}

// editOpen runs edit with an open request and its flag, and saves the request. It returns a
// conflict error if the request is not open or its flag is deleted.
func (s Requests) editOpen(ctx context.Context, scope *management.Scope, id string, edit func(e *requestEdit, f *storedflags.Flag) error) (*ChangeRequest, error) {
	return resource.RunAction(ctx, s.Resource, scope, id, func(e *requestEdit) error {
		if e.After.State != requestOpen {
			return e.After.errNotOpen()
		}
		f, err := s.findFlag(e.View, management.Editor, e.After)
		if err == nil && f == nil {
			err = management.Clash("The feature flag of the change request no longer exists.")
		}
		if err != nil {
			return err
		}
		e.After.UpdatedAt = management.NewStamp(s.Env.Now())
		return edit(e, f)
	})
}

// checkConflict returns a conflict error if a member of the patch was changed in the flag since
// the request's base version, unless it was changed to the proposed value.
func (s Requests) checkConflict(e *requestEdit, f *storedflags.Flag) error {
	if e.After.Base == f.Version {
		return nil
	}
	base, err := s.Flags.MembersAt(e.View, f, e.After.Base)
	if err != nil {
		return err
	}
	members, err := s.Flags.Members(e.View, f)
	if err != nil {
		return err
	}
	patch := management.JSONObject(e.After.Patch)
	for _, name := range slices.Sorted(maps.Keys(patch)) {
		proposed := patch[name]
		if members[name] != nil && !storedflags.EqualJSON(base[name], members[name]) && !storedflags.EqualJSON(proposed, members[name]) {
			return management.Clash("The field %s of the feature flag has changed since version %d, on which the request is based. Edit the request to base it on the current version.", name, e.After.Base)
		}
	}
	return nil
}
