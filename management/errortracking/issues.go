package errortracking

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// kindIssue is the kind of the records of issues. Unique is the project and the fingerprint, Other
// the project and the status, Sort the time when the issue was last seen.
const kindIssue = "issue"

// The states of issues. An exception reopens resolved and archived issues. Suppressed issues remain
// suppressed.
const (
	issueActive     = "active"
	issueResolved   = "resolved"
	issueSuppressed = "suppressed"
	issueArchived   = "archived"
)

// issueStates are the values that a request may have for status.
var issueStates = []string{issueActive, issueResolved, issueSuppressed, issueArchived}

// Issue is the form of an issue in responses: all exceptions with the same fingerprint (decision
// 24).
type Issue struct {
	ID          string `json:"id"`
	Fingerprint string `json:"fingerprint"`
	// Name and Description are the type and the message of the first exception, unless a user
	// changes them.
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Status      string    `json:"status"`
	Assignee    *assignee `json:"assignee"`
	// FirstSeen and LastSeen are the earliest and the latest time of the exceptions, Count their
	// number.
	FirstSeen management.Stamp `json:"first_seen"`
	LastSeen  management.Stamp `json:"last_seen"`
	Count     int64            `json:"count"`
}

// storedIssue is the stored form of an issue.
type storedIssue struct {
	Issue
	// Changed is the time of the last change of the status. Exceptions from before that time do not
	// reopen the issue.
	Changed management.Stamp `json:"status_changed_at"`
}

// The greatest lengths of an issue's name and description, in characters.
const (
	maxIssueName        = 400
	maxIssueDescription = 4000
)

// issueFields are the writable fields of an issue.
var issueFields = management.Fields{
	{Name: "name", Type: management.Text, Blank: true, MaxLength: maxIssueName},
	{Name: "description", Type: management.Text, Blank: true, MaxLength: maxIssueDescription},
	{Name: "status", Type: management.Choice, Choices: issueStates, Help: "active, resolved, suppressed or archived"},
	{Name: "assignee", Type: management.Any, Null: true, Custom: true, Help: `{"type": "user", "id": 1} or {"type": "role", "id": "<uuid>"}; null if unassigned`},
}

// issueStatus is the field for the status of a query.
var issueStatus = management.Field{Name: "status", Type: management.Choice, Choices: issueStates}

// Issues returns a page of issues, the last seen first. If status is not empty, it returns only
// issues with that status.
func (s Service) Issues(ctx context.Context, scope *management.Scope, status string, p management.Page) (management.List[Issue], error) {
	q := management.Query{Offset: p.Offset, Limit: p.Limit}
	if status != "" {
		if _, err := issueStatus.Read(storage.Encode(status)); err != nil {
			return management.List[Issue]{}, err
		}
		q.Other = issuesOf(scope.Project.ID, status)
	}
	return s.issues.Query(ctx, scope, q)
}

// issuesOf returns the Record.Other of issues with a status.
func issuesOf(project int64, status string) string {
	return management.ProjectParent(project) + "/" + status
}

// issueUnique returns the Record.Unique of an issue.
func issueUnique(project int64, fingerprint string) string {
	return management.ProjectParent(project) + "/" + fingerprint
}

// issueResource returns the resource of issues. Only Follow creates issues.
func (c *Config) issueResource() resource.Resource[management.Tx, storedIssue, Issue] {
	return resource.NewResource(&c.Env, resource.Spec[management.Tx, storedIssue, Issue]{
		Kind: kindIssue, ActivityScope: "ErrorTrackingIssue", Fields: issueFields, NewestFirst: true,
		Header: func(scope *management.Scope, i *storedIssue) resource.RecordHeader {
			return resource.RecordHeader{
				ID: i.ID, Title: i.Name, Other: issuesOf(scope.Project.ID, i.Status), Sort: storage.SortTime(i.LastSeen.Time), Unique: issueUnique(scope.Project.ID, i.Fingerprint),
			}
		},
		Rules: func(e *resource.Edit[management.Tx, storedIssue]) (err error) {
			i := e.After
			if i.Status != e.Before.Status {
				i.Changed = management.NewStamp(c.Env.Now())
			}
			if e.Values.Has("assignee") {
				i.Assignee, err = readAssignee(e.Tx, e.Scope, e.Values.Raw("assignee"))
			}
			return err
		},
		Show: func(_ *view, i *storedIssue) (*Issue, error) { return &i.Issue, nil },
	})
}

// Issue returns one issue.
func (s Service) Issue(ctx context.Context, scope *management.Scope, id string) (*Issue, error) {
	return s.issues.Get(ctx, scope, id)
}

// Find returns at most limit issues, the last seen first. If status or id is not empty, it returns
// only issues with that status or id. An unknown id is not an error.
func (s Service) Find(ctx context.Context, scope *management.Scope, status, id string, limit int) ([]Issue, error) {
	if id == "" {
		list, err := s.Issues(ctx, scope, status, management.Page{Limit: limit})
		return list.Results, err
	}
	issue, err := s.Issue(ctx, scope, id)
	var target *management.Error
	if errors.As(err, &target) && target.Kind == management.NotFound || err == nil && status != "" && issue.Status != status {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []Issue{*issue}, nil
}

// Fingerprint returns the fingerprint of an exception with the given properties, a JSON object
// (decision 24). Exceptions with the same fingerprint belong to the same issue.
func Fingerprint(properties string) string { return readException(properties).fingerprint() }

// UpdateIssue changes the writable fields of an issue. All of them are optional.
func (s Service) UpdateIssue(ctx context.Context, scope *management.Scope, id string, b management.Body) (*Issue, error) {
	return s.issues.Update(ctx, scope, id, b, false)
}

// firstCharacters returns the first n characters of a string.
func firstCharacters(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n])
}
