package featureflags

import (
	"context"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// Approve agrees with a revision of a request. Who has written a part of it may not.
func (s ChangeRequests) Approve(ctx context.Context, st *management.Standing, id string, b management.Body) (*ChangeRequest, error) {
	return s.vote(ctx, st, id, b, approves)
}

// Reject closes a request until it is edited.
func (s ChangeRequests) Reject(ctx context.Context, st *management.Standing, id string, b management.Body) (*ChangeRequest, error) {
	return s.vote(ctx, st, id, b, rejects)
}

func (s ChangeRequests) vote(ctx context.Context, st *management.Standing, id string, b management.Body, vote string) (*ChangeRequest, error) {
	values, err := VoteFields.Create(b)
	if err != nil {
		return nil, err
	}
	return s.whileOpen(ctx, st, id, func(e *requestEdit, f *storedFlag) error {
		r, me := e.Now, e.User.ID
		switch {
		case vote == approves && r.wrote(me):
			return &management.Error{Kind: management.Forbidden, Code: "own_change", Message: "Who has written a change cannot approve it: somebody else has to."}
		case values.Int("revision") != r.Revision:
			return &management.Error{Kind: management.Conflict, Code: "revision_changed", Field: "revision", Message: "The change request was edited meanwhile: look at it again."}
		}
		r.Votes = slices.DeleteFunc(slices.Clone(r.Votes), func(v storedVote) bool { return v.User == me })
		r.Votes = append(r.Votes, storedVote{me, vote, management.At(s.Desk.Now())})
		if vote == rejects {
			r.State = requestRejected
			return s.noteRequest(e, f.Key, "change_rejected")
		}
		return s.noteRequest(e, f.Key, "change_approved")
	})
}

// Withdraw closes a request for good: who has written a part of it may, and administrators
// of the project.
func (s ChangeRequests) Withdraw(ctx context.Context, st *management.Standing, id string) (*ChangeRequest, error) {
	return management.Act(ctx, s.Resource, st, id, func(e *requestEdit) error {
		if e.Now.State != requestOpen {
			return e.Now.closed()
		}
		if !e.Now.wrote(e.User.ID) && !e.Administers() {
			return management.Denied("Only who has written a change request, or an administrator, can withdraw it.")
		}
		f, err := s.flagOf(e.View, management.Editor, e.Now)
		if err != nil {
			return err
		}
		key := "" // of a flag that is gone
		if f != nil {
			key = f.Key
		}
		e.Now.State, e.Now.UpdatedAt = requestWithdrawn, management.At(s.Desk.Now())
		return s.noteRequest(e, key, "change_withdrawn")
	})
}

// Apply makes the change of a request that has its approvals, in the name of its author,
// who has to be able to make it now.
func (s ChangeRequests) Apply(ctx context.Context, st *management.Standing, id string) (*ChangeRequest, error) {
	return s.whileOpen(ctx, st, id, func(e *requestEdit, f *storedFlag) error {
		r := e.Now
		a, err := approvalsIn(e.Standing)
		if err != nil {
			return err
		}
		by := r.approvers()
		if f.protected(&a) && len(by) < int(a.Needed) {
			return unapproved("The change request has %d of the %d approvals that it needs.", len(by), a.Needed)
		}
		if err := s.conflict(e, f); err != nil {
			return err
		}
		author, err := management.UserIn(e.Tx, r.Author, e.Project)
		if err == nil && author == nil {
			err = management.Denied("Who has asked for this change may not work in the project any more.")
		}
		if err == nil {
			err = author.Needs(management.Editor, f.thing())
		}
		if err != nil {
			return err
		}
		f.note, f.approved = r.Note, &approval{request: r.ID}
		if f.approved.by, err = emailsOf(e.View, by); err != nil {
			return err
		}
		if err := s.propose(e.Tx, author, f, r.Patch); err != nil {
			return err
		}
		r.State = requestApplied
		return Flags{s.core}.saveFlag(e.Tx, author, f)
	})
}

// whileOpen does something with a request that waits, and with its flag.
func (s ChangeRequests) whileOpen(ctx context.Context, st *management.Standing, id string, work func(e *requestEdit, f *storedFlag) error) (*ChangeRequest, error) {
	return management.Act(ctx, s.Resource, st, id, func(e *requestEdit) error {
		if e.Now.State != requestOpen {
			return e.Now.closed()
		}
		f, err := s.flagOf(e.View, management.Editor, e.Now)
		if err == nil && f == nil {
			err = management.Clash("The feature flag of the change request is gone.")
		}
		if err != nil {
			return err
		}
		e.Now.UpdatedAt = management.At(s.Desk.Now())
		return work(e, f)
	})
}
