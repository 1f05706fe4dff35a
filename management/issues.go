package management

import (
	"context"
	"unicode/utf8"
)

// kindIssue is an issue of a project: Unique is project and fingerprint, Other
// project and status, Sort when it was seen last.
const kindIssue = "issue"

const issueScope = "ErrorTrackingIssue"

// The states of issues. Exceptions make resolved and archived ones active again,
// suppressed ones stay as they are.
const (
	IssueActive     = "active"
	IssueResolved   = "resolved"
	IssueSuppressed = "suppressed"
	IssueArchived   = "archived"
)

var issueStates = []string{IssueActive, IssueResolved, IssueSuppressed, IssueArchived}

// Issue is what all exceptions with one fingerprint are (decision 24).
type Issue struct {
	ID          string    `json:"id"`
	Fingerprint string    `json:"fingerprint"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Status      string    `json:"status"`
	Assignee    *Assignee `json:"assignee"`
	FirstSeen   Stamp     `json:"first_seen"`
	LastSeen    Stamp     `json:"last_seen"`
	Count       int64     `json:"count"`
}

// storedIssue is an issue with what is not shown of it.
type storedIssue struct {
	Issue
	// Changed is when somebody set the status: what happened before does not make
	// the issue active again.
	Changed Stamp `json:"status_changed_at"`
}

// How long an issue's name and description may be, in characters.
const (
	maxIssueName        = 400
	maxIssueDescription = 4000
)

// IssueFields are the writable fields of an issue.
var IssueFields = Fields{
	{Name: "name", Type: Text, Blank: true, Max: maxIssueName},
	{Name: "description", Type: Text, Blank: true, Max: maxIssueDescription},
	{Name: "status", Type: Choice, Choices: issueStates, Help: "active, resolved, suppressed or archived"},
	{Name: "assignee", Type: Any, Null: true, Help: `{"type": "user", "id": 1} or {"type": "role", "id": "<uuid>"}; null for nobody`},
}

var issueStatus = Field{Name: "status", Type: Choice, Choices: issueStates}

// Issues returns a page of issues, those of one status when it is not empty, last
// seen first.
func (s ErrorTracking) Issues(ctx context.Context, st *Standing, status string, p Page) (List[Issue], error) {
	q := Query{Kind: kindIssue, Parent: ProjectParent(st.Project.ID), Descending: true, Offset: p.Offset, Limit: p.Limit}
	if status != "" {
		if _, err := issueStatus.read(encode(status)); err != nil {
			return List[Issue]{}, err
		}
		q.Other = issuesOf(st.Project.ID, status)
	}
	return read(ctx, &s.desk, func(tx Tx) (List[Issue], error) { return listOfRecords[Issue](tx, q) })
}

func issuesOf(project int64, status string) string { return ProjectParent(project) + "/" + status }

func issueUnique(project int64, fingerprint string) string {
	return ProjectParent(project) + "/" + fingerprint
}

// Issue returns one issue.
func (s ErrorTracking) Issue(ctx context.Context, st *Standing, id string) (*Issue, error) {
	return read(ctx, &s.desk, func(tx Tx) (*Issue, error) {
		i, err := issueOf(tx, st.Project.ID, id)
		if err != nil {
			return nil, err
		}
		return &i.Issue, nil
	})
}

func issueOf(tx Tx, project int64, id string) (*storedIssue, error) {
	id, ok := NormalUUID(id)
	if !ok {
		return nil, errNotFound()
	}
	r, err := tx.Get(kindIssue, ProjectParent(project), id)
	if err == nil && r == nil {
		err = errNotFound()
	}
	if err != nil {
		return nil, err
	}
	return decode[storedIssue](r)
}

func putIssue(tx Tx, project int64, i *storedIssue) error {
	return tx.Put(&Record{
		Kind: kindIssue, Parent: ProjectParent(project), ID: i.ID, Other: issuesOf(project, i.Status),
		Sort: sortTime(i.LastSeen.Time), Unique: issueUnique(project, i.Fingerprint), Data: encode(i),
	})
}

// UpdateIssue changes what people may change of an issue. No field has to be
// there.
func (s ErrorTracking) UpdateIssue(ctx context.Context, st *Standing, id string, b Body) (*Issue, error) {
	return write(ctx, &s.desk, func(tx Tx) (*Issue, error) {
		i, err := issueOf(tx, st.Project.ID, id)
		if err != nil {
			return nil, err
		}
		before := i.Issue
		v, err := IssueFields.Change(b)
		if err != nil {
			return nil, err
		}
		Set(v, "name", &i.Name)
		Set(v, "description", &i.Description)
		Set(v, "status", &i.Status)
		if i.Status != before.Status {
			i.Changed = At(s.desk.now())
		}
		if v.Has("assignee") {
			if i.Assignee, err = readAssignee(tx, st, v.Raw("assignee")); err != nil {
				return nil, err
			}
		}
		if err := putIssue(tx, st.Project.ID, i); err != nil {
			return nil, err
		}
		return &i.Issue, s.desk.note(tx, st.Caller, ProjectParent(st.Project.ID), issueScope, i.ID, i.Name, before, i.Issue)
	})
}

// firstCharacters is the beginning of a text, at most n characters.
func firstCharacters(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n])
}
