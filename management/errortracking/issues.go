package errortracking

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/management"
)

// kindIssue is an issue of a project: Unique is project and fingerprint, Other
// project and status, Sort when it was seen last.
const kindIssue = "issue"

// The states of issues. Exceptions make resolved and archived ones active again,
// suppressed ones stay as they are.
const (
	issueActive     = "active"
	issueResolved   = "resolved"
	issueSuppressed = "suppressed"
	issueArchived   = "archived"
)

var issueStates = []string{issueActive, issueResolved, issueSuppressed, issueArchived}

// Issue is what all exceptions with one fingerprint are (decision 24).
type Issue struct {
	ID          string           `json:"id"`
	Fingerprint string           `json:"fingerprint"`
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Status      string           `json:"status"`
	Assignee    *assignee        `json:"assignee"`
	FirstSeen   management.Stamp `json:"first_seen"`
	LastSeen    management.Stamp `json:"last_seen"`
	Count       int64            `json:"count"`
}

// storedIssue is an issue with what is not shown of it.
type storedIssue struct {
	Issue
	// Changed is when somebody set the status: what happened before does not make
	// the issue active again.
	Changed management.Stamp `json:"status_changed_at"`
}

// How long an issue's name and description may be, in characters.
const (
	maxIssueName        = 400
	maxIssueDescription = 4000
)

// IssueFields are the writable fields of an issue.
var IssueFields = management.Fields{
	{Name: "name", Type: management.Text, Blank: true, MaxLength: maxIssueName},
	{Name: "description", Type: management.Text, Blank: true, MaxLength: maxIssueDescription},
	{Name: "status", Type: management.Choice, Choices: issueStates, Help: "active, resolved, suppressed or archived"},
	{Name: "assignee", Type: management.Any, Null: true, Custom: true, Help: `{"type": "user", "id": 1} or {"type": "role", "id": "<uuid>"}; null for nobody`},
}

var issueStatus = management.Field{Name: "status", Type: management.Choice, Choices: issueStates}

// Issues returns a page of issues, those of one status when it is not empty, last
// seen first.
func (s Service) Issues(ctx context.Context, scope *management.Scope, status string, p management.Page) (management.List[Issue], error) {
	q := management.Query{Offset: p.Offset, Limit: p.Limit}
	if status != "" {
		if _, err := issueStatus.Read(management.Encode(status)); err != nil {
			return management.List[Issue]{}, err
		}
		q.Other = issuesOf(scope.Project.ID, status)
	}
	return s.issues.Query(ctx, scope, q)
}

func issuesOf(project int64, status string) string {
	return management.ProjectParent(project) + "/" + status
}

func issueUnique(project int64, fingerprint string) string {
	return management.ProjectParent(project) + "/" + fingerprint
}

func (c *Config) issueResource() management.Resource[management.Tx, storedIssue, Issue] {
	return management.NewResource(&c.Env, management.Spec[management.Tx, storedIssue, Issue]{
		Kind: kindIssue, ActivityScope: "ErrorTrackingIssue", Fields: IssueFields, NewestFirst: true,
		Header: func(scope *management.Scope, i *storedIssue) management.RecordHeader {
			return management.RecordHeader{
				ID: i.ID, Title: i.Name, Other: issuesOf(scope.Project.ID, i.Status), Sort: management.SortTime(i.LastSeen.Time), Unique: issueUnique(scope.Project.ID, i.Fingerprint),
			}
		},
		Rules: func(e *management.Edit[management.Tx, storedIssue]) (err error) {
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

// Find returns the issues of a status and of an id, where these are not empty: at most
// so many, last seen first.
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

// Fingerprint tells to which issue an exception with such properties, a JSON object,
// belongs (decision 24).
func Fingerprint(properties string) string { return readException(properties).fingerprint() }

// UpdateIssue changes what people may change of an issue. No field has to be
// there.
func (s Service) UpdateIssue(ctx context.Context, scope *management.Scope, id string, b management.Body) (*Issue, error) {
	return s.issues.Update(ctx, scope, id, b, false)
}

// firstCharacters is the beginning of a text, at most n characters.
func firstCharacters(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n])
}
