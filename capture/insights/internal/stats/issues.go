package stats

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/calendar"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// Kinds are the kinds of queries about issues and surveys.
var Kinds = []scan.Kind{
	{Name: "ErrorTrackingQuery", Parse: parseIssues},
	{Name: "SurveyStatsQuery", Parse: parseSurveyStats},
}

// exceptionEvent is the name of events with an exception.
const exceptionEvent = "$exception"

// Limits of a query about issues: the number of issues of a project, and the number of parts into
// which the time range is divided.
const (
	maxIssues     = 10_000
	maxResolution = 1000
)

// IssuesQuery is an ErrorTrackingQuery (clients.md §14.1): how often issues occurred, and for how
// many persons and sessions.
type IssuesQuery struct {
	issues []port.Issue
	// err is the error of Issues.Find.
	err         error
	fingerprint func(properties string) string
	conditions  filter.AllOf
	dates       calendar.Range
	// resolution is the number of parts of the time range; 0: without volumes.
	resolution    int
	order         func(a, b *issueRow) int
	limit, offset int
}

// About returns the issues of the query, or the error of finding them.
func (q *IssuesQuery) About() ([]port.Issue, error) { return q.issues, q.err }

// issueOrders are the orders of issues, ascending, by the value of orderBy.
var issueOrders = map[string]func(a, b *issueRow) int{
	"occurrences": func(a, b *issueRow) int { return cmp.Compare(a.Sums.Occurrences, b.Sums.Occurrences) },
	"sessions":    func(a, b *issueRow) int { return cmp.Compare(a.Sums.Sessions, b.Sums.Sessions) },
	"users":       func(a, b *issueRow) int { return cmp.Compare(a.Sums.Users, b.Sums.Users) },
	"first_seen":  func(a, b *issueRow) int { return a.issue.FirstSeen.Compare(b.issue.FirstSeen) },
	"last_seen":   func(a, b *issueRow) int { return a.issue.LastSeen.Compare(b.issue.LastSeen) },
}

// parseIssues parses an ErrorTrackingQuery. It finds the issues already, because which of them the
// caller may see is known when the query is parsed, not when it is run.
func parseIssues(n document.Node, p *port.Project) scan.Plan {
	q := &IssuesQuery{fingerprint: p.Issues.Fingerprint, conditions: filter.ReadAll(n, p), dates: calendar.ReadRange(n.Get("dateRange"))}
	n.RejectMembers("searchQuery", "assignee", "filterGroup", "personId", "groupKey")
	q.order = issueOrders[n.Get("orderBy").Choice("last_seen", "occurrences", "first_seen", "last_seen", "users", "sessions")]
	if n.Get("orderDirection").Choice("DESC", "ASC", "DESC") == "DESC" {
		up := q.order
		q.order = func(a, b *issueRow) int { return up(b, a) }
	}
	status := n.Get("status").Choice("all", "active", "resolved", "suppressed", "archived", "all")
	q.resolution = int(n.Get("volumeResolution").IntInRange(0, maxResolution, 0))
	q.limit = int(n.Get("limit").IntInRange(1, maxIssues, scan.DefaultRows))
	q.offset = int(n.Get("offset").IntInRange(0, scan.MaxOffset, 0))
	id := n.Get("issueId").Text("")
	switch {
	case n.HasFailed():
	case p.Issues.Find == nil:
		n.Get("kind").Fail(document.NotSupported, "This server has no error tracking.")
	default:
		if status == "all" {
			status = ""
		}
		q.issues, q.err = p.Issues.Find(status, id, maxIssues+1)
		if len(q.issues) > maxIssues {
			n.Get("status").Fail(document.TooLarge, "There are more than %d issues: filter by status, or resolve some.", maxIssues)
		}
	}
	return q
}

// issueRow is an issue of the result, with the numbers computed from its events.
type issueRow struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Status      string  `json:"status"`
	Assignee    *string `json:"assignee"`
	First       string  `json:"first_seen"`
	Last        string  `json:"last_seen"`
	// Library is the property $lib of the latest event.
	Library *string   `json:"library"`
	Sums    issueSums `json:"aggregations"`
	// issue is the issue of the row.
	issue *port.Issue
	// latest is the time of the event that set Library, in microseconds since 1970.
	latest int64
}

// newIssueRow returns a row without any events.
func newIssueRow(issue *port.Issue, resolution int) *issueRow {
	return &issueRow{
		ID: issue.ID, Name: issue.Name, Description: issue.Description, Status: issue.Status, Assignee: issue.Assignee,
		First: microTime(issue.FirstSeen.UnixMicro()), Last: microTime(issue.LastSeen.UnixMicro()),
		Sums: issueSums{Volume: make([]int, resolution)}, issue: issue, latest: math.MinInt64,
	}
}

// issueSums are the numbers of an issue in the range of the query.
type issueSums struct {
	Occurrences int `json:"occurrences"`
	Sessions    int `json:"sessions"`
	Users       int `json:"users"`
	// Volume is the number of events in each part of the range.
	Volume  []int         `json:"volumeRange"`
	Buckets []issueVolume `json:"volume_buckets"`
}

// issueVolume is the number of events in a part of the range; the label is the start of the part.
type issueVolume struct {
	Label string `json:"label"`
	Value int    `json:"value"`
}

// issuesRun is one run of an IssuesQuery.
type issuesRun struct {
	*scan.Run
	*IssuesQuery
	// from and to are the range of the query.
	from, to time.Time
	// rows are by fingerprint.
	rows map[string]*issueRow
	// seen are the pairs of issue and person, and of issue and session, that have been counted.
	seen [2]scan.Set
}

// Run counts the exceptions of the issues in the range and returns a page of them.
func (q *IssuesQuery) Run(r *scan.Run) (*port.Result, error) {
	from, err := r.DateFrom(q.dates, calendar.Hour)
	if err != nil {
		return nil, err
	}
	f := &issuesRun{Run: r, IssuesQuery: q, from: from, to: r.Now, rows: map[string]*issueRow{}}
	switch q.dates.To.Form {
	case calendar.NoDate:
	case calendar.Wall:
		f.to = r.DateTo(q.dates, calendar.Day)
	default:
		f.to = r.DateTo(q.dates, calendar.Hour)
	}
	// The rows are retained until the end of the run.
	if err := r.Reserve(int64(len(q.issues)) * int64(400+24*q.resolution)); err != nil {
		return nil, err
	}
	for i := range q.issues {
		f.rows[q.issues[i].Fingerprint] = newIssueRow(&q.issues[i], q.resolution)
	}
	if len(f.rows) > 0 && !f.from.After(f.to) {
		if err := f.read(); err != nil {
			return nil, err
		}
	}
	return f.answer()
}

// Indexes of issuesRun.seen.
const (
	issueUsers = iota
	issueSessions
)

// read scans the exceptions in the range and adds each to the row of its issue.
func (f *issuesRun) read() error {
	b := &scan.Binder{Run: f.Run, From: f.from.UnixMicro(), To: f.to.UnixMicro()}
	holds, person := f.conditions.Bind(b), b.People()
	session, library := b.BindInterned(b.EventProperty("$session_id")), b.EventProperty("$lib")
	for i := range f.seen {
		f.seen[i].Reserve = f.Reserve
	}
	// numbers are the numbers of the issues in seen.
	numbers := map[*issueRow]uint32{}
	return b.ScanBound(port.Scan{From: b.From, To: b.To, Names: []string{exceptionEvent}, Columns: port.Properties}, func(r *scan.Row) error {
		if !holds(r) {
			return nil
		}
		issue := f.rows[f.fingerprint(r.Batch.Properties[r.Index])]
		if issue == nil {
			return nil
		}
		at := r.Batch.Time[r.Index]
		issue.Sums.Occurrences++
		if text, exists := scan.Text(library(r)); exists && at >= issue.latest {
			text = strings.Clone(text)
			issue.Library, issue.latest = &text, at
		}
		if f.resolution > 0 {
			issue.Sums.Volume[f.part(at)]++
		}
		number, ok := numbers[issue]
		if !ok {
			number = uint32(len(numbers))
			numbers[issue] = number
		}
		if err := f.countOnce(issueUsers, &issue.Sums.Users, number, person(r)); err != nil {
			return err
		}
		if s, exists := session(r); exists {
			return f.countOnce(issueSessions, &issue.Sums.Sessions, number, s)
		}
		return nil
	})
}

// countOnce increments count if the pair of issue and actor has not been counted before.
func (f *issuesRun) countOnce(kind int, count *int, issue, actor uint32) error {
	before := f.seen[kind].Len
	if err := f.seen[kind].Put(scan.Cell{Value: 0, Bucket: issue, Actor: actor}); err != nil {
		return err
	}
	*count += f.seen[kind].Len - before
	return nil
}

// part returns the index of the part of the range that contains an instant, of resolution equal
// parts.
func (f *issuesRun) part(micros int64) int {
	from, to := f.from.UnixMicro(), f.to.UnixMicro()
	return min(f.resolution-1, int(float64(micros-from)/float64(max(to-from, 1))*float64(f.resolution)))
}

// answer sorts the issues that occurred and returns the page that limit and offset select. Equal
// rows are sorted by id, so that pages are consistent.
func (f *issuesRun) answer() (*port.Result, error) {
	results := []*issueRow{}
	for _, row := range f.rows {
		if row.Sums.Occurrences > 0 {
			results = append(results, row)
		}
	}
	slices.SortFunc(results, func(a, b *issueRow) int { return cmp.Or(f.order(a, b), strings.Compare(a.ID, b.ID)) })
	results = results[min(f.offset, len(results)):]
	more := len(results) > f.limit
	results = results[:min(f.limit, len(results))]
	for _, row := range results {
		row.Sums.Buckets = make([]issueVolume, f.resolution)
		for i, n := range row.Sums.Volume {
			start := f.from.Add(time.Duration(float64(f.to.Sub(f.from)) * float64(i) / float64(f.resolution)))
			row.Sums.Buckets[i] = issueVolume{start.UTC().Format(time.RFC3339), n}
		}
	}
	return &port.Result{Results: results, HasMore: &more, Limit: &f.limit, Offset: &f.offset}, nil
}
