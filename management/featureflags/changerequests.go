package featureflags

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// kindChangeRequest is the kind of the records of change requests. Parent is the project, Other
// the key that lists open requests (waitingKey), and Sort the id.
const kindChangeRequest = "change_request"

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

// ChangeRequest is a proposed change of a flag that other users have to approve (spec/console.md
// N12).
type ChangeRequest struct {
	ID      int64  `json:"id"`
	Flag    int64  `json:"flag"`
	FlagKey string `json:"flag_key"` // empty if the flag is deleted
	// BaseVersion is the version of the flag that the change was based on.
	BaseVersion int64 `json:"base_version"`
	// Patch is the body of a PATCH request for the flag.
	Patch json.RawMessage `json:"patch"`
	Title string          `json:"title"`
	Note  string          `json:"note"`
	// Author and Editors are e-mail addresses. Author is null if the user has been deleted.
	Author  *string  `json:"author"`
	Editors []string `json:"editors"`
	State   string   `json:"state"` // open, approved, applied, rejected, withdrawn
	// Revision starts at 1 and increases by one with each edit.
	Revision int64         `json:"revision"`
	Votes    []requestVote `json:"votes"` // on the current revision, oldest first
	// Needed is the number of approvals that the project requires now.
	Needed    int64            `json:"needed"`
	CreatedAt management.Stamp `json:"created_at"`
	UpdatedAt management.Stamp `json:"updated_at"`
}

// requestVote is the vote of one user on a request.
type requestVote struct {
	User     *string          `json:"user"` // e-mail address, null if the user has been deleted
	Vote     string           `json:"vote"` // approve or reject
	Revision int64            `json:"revision"`
	At       management.Stamp `json:"at"`
}

// storedRequest is the stored form of a ChangeRequest. Users are referenced by id.
type storedRequest struct {
	ID        int64            `json:"id"`
	Project   int64            `json:"team_id"`
	Flag      int64            `json:"flag"`
	Base      int64            `json:"base_version"`
	Patch     json.RawMessage  `json:"patch"`
	Title     string           `json:"title"`
	Note      string           `json:"note"`
	Author    int64            `json:"author"`
	Editors   []int64          `json:"editors"`
	State     string           `json:"state"`
	Revision  int64            `json:"revision"`
	Votes     []storedVote     `json:"votes"`
	CreatedAt management.Stamp `json:"created_at"`
	UpdatedAt management.Stamp `json:"updated_at"`
}

// storedVote is the stored form of a requestVote.
type storedVote struct {
	User int64            `json:"user"`
	Vote string           `json:"vote"`
	At   management.Stamp `json:"at"`
}

const voteApprove, voteReject = "approve", "reject"

// ChangeRequestEdits are the fields of a request that can be edited.
var ChangeRequestEdits = management.Fields{
	{Name: "patch", Type: management.Object, Required: true, Help: "body of a PATCH of the flag: only the fields that change"},
	{Name: "base_version", Type: management.Int, Custom: true, Help: "version of the flag that the patch is based on; the current version by default, if there is a patch"},
	{Name: "title", Type: management.Text, Blank: true, MaxLength: 200},
	{Name: "note", Type: management.Text, Blank: true, MaxLength: maxChangeNote, Help: "reason for the change, stored with the version and in the activity log"},
}

// ChangeRequestFields are the fields of a new request.
var ChangeRequestFields = append(management.Fields{{Name: "flag", Type: management.Int, Required: true, Help: "id of the flag"}}, ChangeRequestEdits...)

// VoteFields are the fields of an approval or a rejection.
var VoteFields = management.Fields{{Name: "revision", Type: management.Int, Required: true, Help: "the revision that was reviewed"}}

// ChangeRequests manages change requests for flags.
type ChangeRequests struct {
	*core
	management.Resource[Tx, storedRequest, ChangeRequest]
}

type requestEdit = management.Edit[Tx, storedRequest]

func newChangeRequests(c *core) (s ChangeRequests) {
	s.core = c
	s.Resource = management.NewResource(&c.Env, management.Spec[Tx, storedRequest, ChangeRequest]{
		Kind: kindChangeRequest, Fields: ChangeRequestFields, Changes: ChangeRequestEdits, NewestFirst: true,
		Header: func(scope *management.Scope, r *storedRequest) management.RecordHeader {
			p := management.RecordHeader{ID: strconv.FormatInt(r.ID, 10), Sort: management.SortNumber(r.ID)}
			if r.State == requestOpen {
				p.Other = waitingKey(scope)
			}
			return p
		},
		Load: func(v *view, id string, _ *management.Body) (*storedRequest, error) {
			r, err := management.LoadRecord[storedRequest](v.Tx, kindChangeRequest, v.Parent(), id)
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

// findFlag returns the flag of a request, or nil if it is deleted. It returns an error if the
// caller has less than the given access to the flag.
func (s ChangeRequests) findFlag(v *view, level management.AccessLevel, r *storedRequest) (*storedFlag, error) {
	f, err := Flags{s.core}.loadFlag(v.Tx, v.Scope, r.Flag)
	var fault *management.Error
	if errors.As(err, &fault) && fault.Kind == management.NotFound {
		return nil, nil
	}
	if err == nil {
		err = v.RequireAccess(level, f.accessObject())
	}
	return f, err
}

// List returns a page of requests, newest first. States and flag restrict the result unless
// states is empty or flag is 0. Requests for flags that the caller may not see are left out.
func (s ChangeRequests) List(ctx context.Context, scope *management.Scope, states []string, flag int64, p management.Page) (out management.List[ChangeRequest], err error) {
	for _, state := range states {
		if !slices.Contains([]string{requestOpen, requestApproved, requestApplied, requestRejected, requestWithdrawn}, state) {
			return out, management.Fault("state", "%q is not one of open, approved, applied, rejected, withdrawn.", state)
		}
	}
	hidden, err := Flags{s.core}.hiddenIDs(ctx, scope)
	if err != nil {
		return out, err
	}
	a, err := approvalSettings(scope)
	if err != nil {
		return out, err
	}
	q := management.Query{Offset: p.Offset, Limit: p.Limit}
	if len(states) > 0 || flag != 0 || len(hidden) > 0 {
		q.Match = func(record *management.Record) bool {
			r, err := management.Decode[storedRequest](record)
			return err == nil && !hidden[pathOf(r.Flag)] && (flag == 0 || r.Flag == flag) && (len(states) == 0 || slices.Contains(states, r.state(&a)))
		}
	}
	return s.Query(ctx, scope, q)
}

// rules validates a new or edited request and resets its votes: an edit discards all approvals.
func (s ChangeRequests) rules(e *requestEdit) error {
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
	if err := s.applyPatch(e.Tx, e.Scope, f, r.Patch); err != nil {
		return management.PrefixField("patch", err)
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

// applyPatch applies a patch to f in memory, with the permissions of scope. It returns an error
// if the patch is empty, has members that a request cannot change, or if the result is not valid.
func (s ChangeRequests) applyPatch(tx Tx, scope *management.Scope, f *storedFlag, patch json.RawMessage) error {
	b := management.Body{Members: management.JSONObject(patch)}
	if len(b.Members) == 0 {
		return management.Fault("", "The patch is empty.")
	}
	for _, name := range slices.Sorted(maps.Keys(b.Members)) {
		if slices.Contains(editingFields, name) || !slices.ContainsFunc(FlagFields, func(f management.Field) bool { return f.Name == name }) {
			return management.Fault(name, "A change request cannot change this field.")
		}
	}
	if f.Origin != "" {
		return errInFile(f)
	}
	if err := checkBody(&b, flags.FlagPart); err != nil {
		return err
	}
	v, err := FlagFields.Change(b)
	if err != nil {
		return err
	}
	FlagFields.Apply(v, f)
	note := f.note
	if err := (Flags{s.core}).apply(tx, scope, f, v); err != nil {
		return err
	}
	f.note = note
	return Flags{s.core}.check(tx, scope, f)
}

func (s ChangeRequests) logRequest(e *requestEdit, key, activity string) error {
	detail := management.ActivityDetail{Name: key, Changes: []management.Change{}, Note: e.After.Note, ChangeRequest: e.After.ID}
	return s.Env.LogActivityAs(e.Tx, e.Caller, e.Parent(), activity, flagActivityScope, pathOf(e.After.Flag), detail)
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

func (r *storedRequest) state(a *management.FlagApprovals) string {
	if r.State == requestOpen && len(r.approvers()) >= max(1, int(a.Needed)) {
		return requestApproved
	}
	return r.State
}

// errNotOpen is the conflict error for a request that is no longer open.
func (r *storedRequest) errNotOpen() error {
	return management.Clash("The change request is %s.", r.State)
}

func (s ChangeRequests) show(v *view, r *storedRequest) (*ChangeRequest, error) {
	a, err := approvalSettings(v.Scope)
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

func errInFile(f *storedFlag) error {
	return management.Clash("The feature flag %q is defined in the file %s and can only be changed there.", f.Key, f.Origin)
}
