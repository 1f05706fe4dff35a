package stats

import (
	"math"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/calendar"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// surveyEvents are the events of surveys, in the order of the constants below.
var surveyEvents = []string{"survey shown", "survey dismissed", "survey sent"}

// Indexes of surveyEvents.
const (
	surveyDisplayed = iota
	surveyDismissed
	surveySent
)

// maxSurveys is the maximum number of surveys of a query.
const maxSurveys = 10_000

// surveyStats is a SurveyStatsQuery: how often, and to how many persons, surveys were shown,
// dismissed and answered (clients.md §8.2). PostHog does not have this kind.
type surveyStats struct {
	// windows are, by the id of the survey, the range in which its events count, in microseconds
	// since 1970. Both bounds are inclusive.
	windows map[string][2]int64
}

// parseSurveyStats parses a SurveyStatsQuery.
func parseSurveyStats(n document.Node, _ *port.Project) scan.Plan {
	q := &surveyStats{windows: map[string][2]int64{}}
	for _, s := range n.Get("surveys").List(maxSurveys) {
		q.windows[s.Get("id").Text("")] = [2]int64{calendar.ReadInstant(s.Get("from")).UnixMicro(), calendar.ReadInstant(s.Get("to")).UnixMicro()}
	}
	return q
}

// surveyCount are the numbers for events with one name.
type surveyCount struct {
	Total          int     `json:"total_count"`
	OnlySeen       int     `json:"total_count_only_seen"`
	People         int     `json:"unique_persons"`
	PeopleOnlySeen int     `json:"unique_persons_only_seen"`
	First          *string `json:"first_seen"`
	Last           *string `json:"last_seen"`
}

// surveyRates are percentages of the surveys that were shown, with two decimals.
type surveyRates struct {
	Response        scan.Number `json:"response_rate"`
	Dismissal       scan.Number `json:"dismissal_rate"`
	PeopleResponse  scan.Number `json:"unique_users_response_rate"`
	PeopleDismissal scan.Number `json:"unique_users_dismissal_rate"`
}

// surveyTally counts events with one name. Times are in microseconds since 1970.
type surveyTally struct {
	total       int
	people      map[uint32]struct{}
	first, last int64
}

// submission is the latest event of an answer. Clients send an answer in several events, with the
// same submission id.
type submission struct {
	at, id int64
	person uint32
}

// surveyRun is one run of a surveyStats query.
type surveyRun struct {
	*scan.Run
	// tallies are by index of surveyEvents.
	tallies [3]surveyTally
	// sent are the latest events of answers, by survey and submission id.
	sent map[string]submission
}

// Approximate sizes of a person and of a submission in bytes.
const (
	surveyPerson = 32
	surveyAnswer = 160
)

// Run counts the events. Answers that were sent in parts are counted when all events have been
// read.
func (q *surveyStats) Run(r *scan.Run) (*port.Result, error) {
	f := &surveyRun{Run: r, sent: map[string]submission{}}
	for i := range f.tallies {
		f.tallies[i].people = map[uint32]struct{}{}
	}
	if err := q.read(f); err != nil {
		return nil, err
	}
	for _, s := range f.sent {
		if err := f.count(surveySent, s.at, s.person); err != nil {
			return nil, err
		}
	}
	stats, rates := map[string]surveyCount{}, surveyRates{}
	if len(q.windows) > 0 {
		stats, rates = f.answer()
	}
	return &port.Result{Extra: map[string]any{"stats": stats, "rates": rates}}, nil
}

// read counts events, and collects in sent the answers that have a submission id.
func (q *surveyStats) read(f *surveyRun) error {
	if len(q.windows) == 0 {
		return nil
	}
	// One scan covers the windows of all surveys.
	from, to := int64(math.MaxInt64), int64(math.MinInt64)
	for _, w := range q.windows {
		from, to = min(from, w[0]), max(to, w[1])
	}
	b := &scan.Binder{Run: f.Run}
	person := b.People()
	survey, partial, answer := b.EventProperty("$survey_id"), b.EventProperty("$survey_partially_completed"), b.EventProperty("$survey_submission_id")
	return b.ScanBound(port.Scan{From: from, To: to, Names: surveyEvents, Columns: port.Names | port.IDs}, func(r *scan.Row) error {
		id, _ := scan.Text(survey(r))
		at := r.Batch.Time[r.Index]
		if w, ok := q.windows[id]; !ok || at < w[0] || at > w[1] {
			return nil
		}
		kind := slices.Index(surveyEvents, r.Batch.Name[r.Index])
		switch kind {
		case surveyDismissed:
			// A survey that was dismissed after a partial answer counts as answered.
			if text, _ := scan.Text(partial(r)); text == "true" {
				return nil
			}
		case surveySent:
			if text, exists := scan.Text(answer(r)); exists && text != "" {
				return f.addSubmission(id+"/"+text, submission{at, r.Batch.ID[r.Index], person(r)})
			}
		}
		return f.count(kind, at, person(r))
	})
}

// addSubmission stores an event of an answer if it is later than the stored one.
func (f *surveyRun) addSubmission(key string, s submission) error {
	previous, exists := f.sent[key]
	if exists && (previous.at > s.at || previous.at == s.at && previous.id > s.id) {
		return nil
	}
	if !exists {
		if err := f.Reserve(surveyAnswer + int64(len(key))); err != nil {
			return err
		}
	}
	f.sent[key] = s
	return nil
}

// count adds an event to the tally of a kind.
func (f *surveyRun) count(kind int, micros int64, person uint32) error {
	t := &f.tallies[kind]
	if t.total == 0 {
		t.first, t.last = micros, micros
	}
	t.total++
	t.first, t.last = min(t.first, micros), max(t.last, micros)
	if _, seen := t.people[person]; seen {
		return nil
	}
	if err := f.Reserve(surveyPerson); err != nil {
		return err
	}
	t.people[person] = struct{}{}
	return nil
}

// answer computes the response. A person who sent an answer does not count as having dismissed the
// survey.
func (f *surveyRun) answer() (map[string]surveyCount, surveyRates) {
	for person := range f.tallies[surveySent].people {
		delete(f.tallies[surveyDismissed].people, person)
	}
	counts := map[string]surveyCount{}
	for kind, name := range surveyEvents {
		t := &f.tallies[kind]
		c := surveyCount{Total: t.total, People: len(t.people)}
		if t.total > 0 {
			first, last := microTime(t.first), microTime(t.last)
			c.First, c.Last = &first, &last
		}
		counts[name] = c
	}
	views, dismissed, sent := counts[surveyEvents[surveyDisplayed]], counts[surveyEvents[surveyDismissed]], counts[surveyEvents[surveySent]]
	views.OnlySeen = max(0, views.Total-dismissed.Total-sent.Total)
	views.PeopleOnlySeen = max(0, views.People-dismissed.People-sent.People)
	counts[surveyEvents[surveyDisplayed]] = views
	return counts, surveyRates{
		Response: rateOf(sent.Total, views.Total), Dismissal: rateOf(dismissed.Total, views.Total),
		PeopleResponse: rateOf(sent.People, views.People), PeopleDismissal: rateOf(dismissed.People, views.People),
	}
}

// microTime returns a time in microseconds in the format of responses.
func microTime(micros int64) string {
	return time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05.999999Z")
}

// rateOf returns a percentage with two decimals, 0 if total is 0.
func rateOf(part, total int) scan.Number {
	if total == 0 {
		return 0
	}
	return scan.Number(math.Round(float64(part)/float64(total)*10_000) / 100)
}
