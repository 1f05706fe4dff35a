package changes

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/approvals"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// maxWaiting is the maximum number of open requests of a project.
const maxWaiting = 500

// The states of a request. requestApproved is never stored: an open request that has enough
// approvals is returned as approved.
const (
	requestOpen      = "open"
	requestApproved  = "approved"
	requestApplied   = "applied"
	requestRejected  = "rejected"
	requestWithdrawn = "withdrawn"
)

func newRequests(c *core) (s Requests) {
	s.core = c
	s.Resource = resource.NewResource(&c.Env, resource.Spec[storeTx, storedRequest, ChangeRequest]{
		Kind: kindChangeRequest, Fields: requestFields, Changes: RequestEdits, NewestFirst: true,
		Header: func(scope *management.Scope, r *storedRequest) resource.RecordHeader {
			p := resource.RecordHeader{ID: strconv.FormatInt(r.ID, 10), Sort: storage.SortNumber(r.ID)}
			if r.State == requestOpen {
				p.Other = waitingKey(scope)
			}
			return p
		},
		Load: func(v *view, id string, _ *management.Body) (*storedRequest, error) {
			r, err := resource.LoadRecord[storedRequest](v.Tx, kindChangeRequest, v.Parent(), id)
			if err == nil && r != nil {
				_, err = s.findFlag(v, management.Viewer, r)
			}
			return r, err
		},
		New: func(v *view) (*storedRequest, error) {
			if err := checkWaiting(v); err != nil {
				return nil, err
			}
			id, err := v.Tx.Next(kindChangeRequest)
			return &storedRequest{ID: id, Project: v.Project.ID, Author: v.User.ID, State: requestOpen, CreatedAt: management.NewStamp(c.Env.Now())}, err
		},
		AuthorizeChange: func(v *view, r *storedRequest) error {
			_, err := s.findFlag(v, management.Editor, r)
			return err
		},
		Rules: s.rules, Show: s.show,
	})
	return s
}

func waitingKey(scope *management.Scope) string { return scope.Parent() + "/waiting" }

// checkWaiting returns an error if the project cannot have one more open request.
func checkWaiting(v *view) error {
	_, waiting, err := v.Tx.List(management.Query{Kind: kindChangeRequest, Other: waitingKey(v.Scope), Limit: 1})
	if err == nil && waiting >= maxWaiting {
		err = management.Fault("", "A project may have at most %d open change requests.", maxWaiting)
	}
	return err
}

// Find returns the flag of a request, or nil if it is deleted. It returns an error if the
// caller has less than the given access to the flag.
func (s Requests) findFlag(v *view, level management.AccessLevel, r *storedRequest) (*storedflags.Flag, error) {
	f, err := s.stored.Load(v.Tx, v.Scope, r.Flag)
	var fault *management.Error
	if errors.As(err, &fault) && fault.Kind == management.NotFound {
		return nil, nil
	}
	if err == nil {
		err = v.RequireAccess(level, f.AccessObject())
	}
	return f, err
}

// List returns a page of requests, newest first. States and flag restrict the result unless
// states is empty or flag is 0. Requests for flags that the caller may not see are left out.
func (s Requests) List(ctx context.Context, scope *management.Scope, states []string, flag int64, p management.Page) (out management.List[ChangeRequest], err error) {
	for _, state := range states {
		if !slices.Contains([]string{requestOpen, requestApproved, requestApplied, requestRejected, requestWithdrawn}, state) {
			return out, management.Fault("state", "%q is not one of open, approved, applied, rejected, withdrawn.", state)
		}
	}
	hidden, err := s.stored.HiddenIDs(ctx, scope)
	if err != nil {
		return out, err
	}
	a, err := storedflags.ApprovalSettings(scope)
	if err != nil {
		return out, err
	}
	q := management.Query{Offset: p.Offset, Limit: p.Limit}
	if len(states) > 0 || flag != 0 || len(hidden) > 0 {
		q.Match = func(record *management.Record) bool {
			r, err := management.Decode[storedRequest](record)
			return err == nil && !hidden[strconv.FormatInt(r.Flag, 10)] && (flag == 0 || r.Flag == flag) && (len(states) == 0 || slices.Contains(states, r.state(&a)))
		}
	}
	return s.Query(ctx, scope, q)
}

// rules validates a new or edited request and resets its votes: an edit discards all approvals.
func (s Requests) rules(e *requestEdit) error {
	r, now := e.After, management.NewStamp(s.Env.Now())
	if r.State == requestApplied || r.State == requestWithdrawn {
		return r.errNotOpen()
	}
	f, err := s.findFlag(e.View, management.Editor, r)
	if err == nil && f == nil {
		err = management.CodedFault(management.CodeDoesNotExist, "flag", "There is no feature flag with the id %d.", r.Flag)
	}
	if err != nil {
		return err
	}
	if r.State == requestRejected { // the edit opens it again
		if err := checkWaiting(e.View); err != nil {
			return err
		}
	}
	switch {
	case e.Values.Has("base_version"):
		if r.Base = e.Values.Int("base_version"); r.Base < 1 || r.Base > f.Version {
			return management.Fault("base_version", "The feature flag has versions 1 to %d.", f.Version)
		}
	case e.Values.Has("patch"):
		r.Base = f.Version
	}
	if err := s.Flags.ApplyPatch(e.Tx, e.Scope, f, r.Patch); err != nil {
		return resource.PrefixField("patch", err)
	}
	if !e.IsNew && !r.isAuthor(e.User.ID) {
		r.Editors = append(r.Editors, e.User.ID)
	}
	r.Revision, r.Votes, r.State, r.UpdatedAt = r.Revision+1, nil, requestOpen, now
	activity := "change_requested"
	if !e.IsNew {
		activity = "change_edited"
	}
	return s.logRequest(e, f.Key, activity)
}

func (s Requests) logRequest(e *requestEdit, key, activity string) error {
	detail := management.ActivityDetail{Name: key, Changes: []management.Change{}, Note: e.After.Note, ChangeRequest: e.After.ID}
	return s.Env.LogActivityAs(e.Tx, e.Caller, e.Parent(), activity, storedflags.ActivityScope, strconv.FormatInt(e.After.Flag, 10), detail)
}

// isAuthor reports whether the user created or edited the request.
func (r *storedRequest) isAuthor(user int64) bool {
	return r.Author == user || slices.Contains(r.Editors, user)
}

// approvers returns the ids of the users who approved the current revision.
func (r *storedRequest) approvers() (out []int64) {
	for _, v := range r.Votes {
		if v.Vote == voteApprove {
			out = append(out, v.User)
		}
	}
	return out
}

func (r *storedRequest) state(a *approvals.Settings) string {
	if r.State == requestOpen && len(r.approvers()) >= max(1, int(a.Needed)) {
		return requestApproved
	}
	return r.State
}

// errNotOpen is the conflict error for a request that is no longer open.
func (r *storedRequest) errNotOpen() error {
	return management.Clash("The change request is %s.", r.State)
}

func (s Requests) show(v *view, r *storedRequest) (*ChangeRequest, error) {
	a, err := storedflags.ApprovalSettings(v.Scope)
	if err != nil {
		return nil, err
	}
	out := &ChangeRequest{
		ID: r.ID, Flag: r.Flag, BaseVersion: r.Base, Patch: r.Patch, Title: r.Title, Note: r.Note, State: r.state(&a), Revision: r.Revision,
		Editors: []string{}, Votes: []requestVote{}, Needed: a.Needed, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
	f, err := s.findFlag(v, management.Viewer, r)
	if err != nil {
		return nil, err
	}
	if f != nil {
		out.FlagKey = f.Key
	}
	if out.Author, err = emailOf(v, r.Author); err != nil {
		return nil, err
	}
	if out.Editors, err = emailsOf(v, r.Editors); err != nil {
		return nil, err
	}
	for _, x := range r.Votes {
		email, err := emailOf(v, x.User)
		if err != nil {
			return nil, err
		}
		out.Votes = append(out.Votes, requestVote{email, x.Vote, r.Revision, x.At})
	}
	return out, nil
}

// emailOf returns the e-mail address of a user, or nil if the user does not exist.
func emailOf(v *view, user int64) (*string, error) {
	u, err := v.Author(user)
	if err != nil || u == nil {
		return nil, err
	}
	return &u.Email, nil
}

// emailsOf returns the e-mail addresses of the users that still exist.
func emailsOf(v *view, users []int64) ([]string, error) {
	out := []string{}
	for _, id := range users {
		email, err := emailOf(v, id)
		if err != nil {
			return nil, err
		}
		if email != nil {
			out = append(out, *email)
		}
	}
	return out, nil
}
