package insights

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

func init() { kinds = append(kinds, kind{"ErrorTrackingQuery", parseIssues}) }

// Issue is what exceptions of one fingerprint are to people.
type Issue struct {
	ID, Fingerprint, Name, Description, Status string
	// Assignee is such as user:1, nil for nobody.
	Assignee *string
	// FirstSeen and LastSeen are over all time.
	FirstSeen, LastSeen time.Time
}

// Issues know error tracking. The zero value knows none.
type Issues struct {
	// Find gives the issues of a status and of an id, where these are not empty: at most
	// so many, last seen first. Its errors are those of [Parse].
	Find func(status, id string, most int) ([]Issue, error)
	// Fingerprint is that of an exception with such properties, a JSON object.
	Fingerprint func(properties string) string
}

// exceptionEvent is the event of an exception.
const exceptionEvent = "$exception"

// The bounds of a query about issues: how many a project may have, and into how many
// parts its time is divided.
const (
	maxIssues     = 10_000
	maxResolution = 1000
)

// issuesQuery is an ErrorTrackingQuery (clients.md §14.1): how often issues occurred and
// to whom.
type issuesQuery struct {
	issues        []Issue
	err           error // of finding them
	fingerprint   func(properties string) string
	conditions    allOf
	dates         dateRange
	resolution    int
	order         func(a, b *issueRow) int
	limit, offset int
}

// issueOrders are what issues are ordered by.
var issueOrders = map[string]func(a, b *issueRow) int{
	"occurrences": func(a, b *issueRow) int { return cmp.Compare(a.Sums.Occurrences, b.Sums.Occurrences) },
	"sessions":    func(a, b *issueRow) int { return cmp.Compare(a.Sums.Sessions, b.Sums.Sessions) },
	"users":       func(a, b *issueRow) int { return cmp.Compare(a.Sums.Users, b.Sums.Users) },
	"first_seen":  func(a, b *issueRow) int { return a.issue.FirstSeen.Compare(b.issue.FirstSeen) },
	"last_seen":   func(a, b *issueRow) int { return a.issue.LastSeen.Compare(b.issue.LastSeen) },
}

func parseIssues(n node, p *Project) plan {
	q := &issuesQuery{fingerprint: p.Issues.Fingerprint, conditions: queryConditions(n, p), dates: n.get("dateRange").dateRange()}
	n.rejectMembers("searchQuery", "assignee", "filterGroup", "personId", "groupKey")
	q.order = issueOrders[n.get("orderBy").choice("last_seen", "occurrences", "first_seen", "last_seen", "users", "sessions")]
	if n.get("orderDirection").choice("DESC", "ASC", "DESC") == "DESC" {
		up := q.order
		q.order = func(a, b *issueRow) int { return up(b, a) }
	}
	status := n.get("status").choice("all", "active", "resolved", "suppressed", "archived", "all")
	q.resolution = int(n.get("volumeResolution").intInRange(0, maxResolution, 0))
	q.limit = int(n.get("limit").intInRange(1, maxIssues, defaultRows))
	q.offset = int(n.get("offset").intInRange(0, maxOffset, 0))
	id := n.get("issueId").text("")
	switch {
	case n.hasFailed():
	case p.Issues.Find == nil:
		n.get("kind").fail(notSupported, "There is no error tracking here.")
	default:
		if status == "all" {
			status = ""
		}
		q.issues, q.err = p.Issues.Find(status, id, maxIssues+1)
		if len(q.issues) > maxIssues {
			n.get("status").fail(tooLarge, "There are more than %d issues: ask for one status, or resolve some.", maxIssues)
		}
	}
	return q
}

// issueRow is an issue with what the events say of it.
type issueRow struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Status      string    `json:"status"`
	Assignee    *string   `json:"assignee"`
	First       string    `json:"first_seen"`
	Last        string    `json:"last_seen"`
	Library     *string   `json:"library"` // of the latest event
	Sums        issueSums `json:"aggregations"`
	issue       *Issue
	latest      int64
}

func newIssueRow(issue *Issue, resolution int) *issueRow {
	return &issueRow{
		ID: issue.ID, Name: issue.Name, Description: issue.Description, Status: issue.Status, Assignee: issue.Assignee,
		First: microTime(issue.FirstSeen.UnixMicro()), Last: microTime(issue.LastSeen.UnixMicro()),
		Sums: issueSums{Volume: make([]int, resolution)}, issue: issue, latest: math.MinInt64,
	}
}

type issueSums struct {
	Occurrences int `json:"occurrences"`
	Sessions    int `json:"sessions"`
	Users       int `json:"users"`
	// Volume is how often the issue occurred in each part of the time.
	Volume  []int         `json:"volumeRange"`
	Buckets []issueVolume `json:"volume_buckets"`
}

type issueVolume struct {
	Label string `json:"label"`
	Value int    `json:"value"`
}

// issuesRun is a query that is being answered.
type issuesRun struct {
	*run
	*issuesQuery
	from, to time.Time
	rows     map[string]*issueRow // by fingerprint
	seen     [2]set               // pairs of issue and person, and of issue and session
}

func (q *issuesQuery) run(r *run) (*Result, error) {
	from, err := r.dateFrom(q.dates, hour)
	if err != nil {
		return nil, err
	}
	f := &issuesRun{run: r, issuesQuery: q, from: from, to: r.now, rows: map[string]*issueRow{}}
	switch q.dates.to.form {
	case noDate:
	case wall:
		f.to = r.dateTo(q.dates, day)
	default:
		f.to = r.dateTo(q.dates, hour)
	}
	if err := r.reserve(int64(len(q.issues)) * int64(400+24*q.resolution)); err != nil {
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

// What is told apart for each issue.
const (
	issueUsers = iota
	issueSessions
)

func (f *issuesRun) read() error {
	b := &binder{run: f.run, from: f.from.UnixMicro(), to: f.to.UnixMicro()}
	holds, person := f.conditions.bind(b), b.people()
	session, library := b.bindInterned(b.eventProperty("$session_id")), b.eventProperty("$lib")
	for i := range f.seen {
		f.seen[i].reserve = f.reserve
	}
	numbers := map[*issueRow]uint32{}
	return b.scanBound(Scan{From: b.from, To: b.to, Names: []string{exceptionEvent}, Columns: Properties}, func(r *row) error {
		if !holds(r) {
			return nil
		}
		issue := f.rows[f.fingerprint(r.b.Properties[r.i])]
		if issue == nil {
			return nil
		}
		at := r.b.Time[r.i]
		issue.Sums.Occurrences++
		if text, exists := textOf(library(r)); exists && at >= issue.latest {
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

// countOnce counts whom an issue has not seen before.
func (f *issuesRun) countOnce(kind int, count *int, issue, actor uint32) error {
	before := f.seen[kind].n
	if err := f.seen[kind].put(cell{0, issue, actor}); err != nil {
		return err
	}
	*count += f.seen[kind].n - before
	return nil
}

// part is into which of the equal parts of the query's time an instant falls.
func (f *issuesRun) part(micros int64) int {
	from, to := f.from.UnixMicro(), f.to.UnixMicro()
	return min(f.resolution-1, int(float64(micros-from)/float64(max(to-from, 1))*float64(f.resolution)))
}

func (f *issuesRun) answer() (*Result, error) {
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
	return &Result{Results: results, HasMore: &more, Limit: &f.limit, Offset: &f.offset}, nil
}
