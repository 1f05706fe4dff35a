package insights

import (
	"math"
	"slices"
	"time"
)

func init() { kinds = append(kinds, kind{"SurveyStatsQuery", parseSurveyStats}) }

// The events of surveys, in the order in which they are shown.
var surveyEvents = []string{"survey shown", "survey dismissed", "survey sent"}

const (
	surveyShown = iota
	surveyDismissed
	surveySent
)

// maxSurveys is of how many surveys one query asks.
const maxSurveys = 10_000

// surveyStats is a query of ours: how often and to how many people surveys were shown,
// and what became of it (clients.md §8.2).
type surveyStats struct {
	// windows are when events of a survey count, by its id, in microseconds since 1970.
	windows map[string][2]int64
}

func parseSurveyStats(n node, _ *Project) plan {
	q := &surveyStats{windows: map[string][2]int64{}}
	for _, s := range n.get("surveys").list(maxSurveys) {
		q.windows[s.get("id").text("")] = [2]int64{s.get("from").instant().UnixMicro(), s.get("to").instant().UnixMicro()}
	}
	return q
}

// surveyCount is what is said of events of one name.
type surveyCount struct {
	Total          int     `json:"total_count"`
	OnlySeen       int     `json:"total_count_only_seen"`
	People         int     `json:"unique_persons"`
	PeopleOnlySeen int     `json:"unique_persons_only_seen"`
	First          *string `json:"first_seen"`
	Last           *string `json:"last_seen"`
}

// surveyRates are per cent of what was shown, with two decimals.
type surveyRates struct {
	Response        number `json:"response_rate"`
	Dismissal       number `json:"dismissal_rate"`
	PeopleResponse  number `json:"unique_users_response_rate"`
	PeopleDismissal number `json:"unique_users_dismissal_rate"`
}

// surveyTally counts events of one name.
type surveyTally struct {
	total       int
	people      map[uint32]struct{}
	first, last int64
}

// submission is the latest event of an answer that was sent in parts.
type submission struct {
	at, id int64
	person uint32
}

// surveyRun is a query that is being answered.
type surveyRun struct {
	*run
	tallies [3]surveyTally
	sent    map[string]submission
}

// What is reserved for a person and for a submission, in bytes.
const (
	surveyPerson = 32
	surveyAnswer = 160
)

func (q *surveyStats) run(r *run) (*Result, error) {
	f := &surveyRun{run: r, sent: map[string]submission{}}
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
	return &Result{Extra: map[string]any{"stats": stats, "rates": rates}}, nil
}

// read counts all but what was sent in parts, of which it keeps the latest.
func (q *surveyStats) read(f *surveyRun) error {
	if len(q.windows) == 0 {
		return nil
	}
	from, to := int64(math.MaxInt64), int64(math.MinInt64)
	for _, w := range q.windows {
		from, to = min(from, w[0]), max(to, w[1])
	}
	b := &binder{run: f.run}
	person := b.people()
	survey, partial, answer := b.eventProperty("$survey_id"), b.eventProperty("$survey_partially_completed"), b.eventProperty("$survey_submission_id")
	return b.scanBound(Scan{From: from, To: to, Names: surveyEvents, Columns: Names | IDs}, func(r *row) error {
		id, _ := textOf(survey(r))
		at := r.b.Time[r.i]
		if w, ok := q.windows[id]; !ok || at < w[0] || at > w[1] {
			return nil
		}
		kind := slices.Index(surveyEvents, r.b.Name[r.i])
		switch kind {
		case surveyDismissed:
			if text, _ := textOf(partial(r)); text == "true" {
				return nil
			}
		case surveySent:
			if text, exists := textOf(answer(r)); exists && text != "" {
				return f.addSubmission(id+"/"+text, submission{at, r.b.ID[r.i], person(r)})
			}
		}
		return f.count(kind, at, person(r))
	})
}

func (f *surveyRun) addSubmission(key string, s submission) error {
	previous, exists := f.sent[key]
	if exists && (previous.at > s.at || previous.at == s.at && previous.id > s.id) {
		return nil
	}
	if !exists {
		if err := f.reserve(surveyAnswer + int64(len(key))); err != nil {
			return err
		}
	}
	f.sent[key] = s
	return nil
}

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
	if err := f.reserve(surveyPerson); err != nil {
		return err
	}
	t.people[person] = struct{}{}
	return nil
}

// answer adds up. Who has sent an answer has not dismissed the survey.
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
	views, dismissed, sent := counts[surveyEvents[surveyShown]], counts[surveyEvents[surveyDismissed]], counts[surveyEvents[surveySent]]
	views.OnlySeen = max(0, views.Total-dismissed.Total-sent.Total)
	views.PeopleOnlySeen = max(0, views.People-dismissed.People-sent.People)
	counts[surveyEvents[surveyShown]] = views
	return counts, surveyRates{
		Response: rateOf(sent.Total, views.Total), Dismissal: rateOf(dismissed.Total, views.Total),
		PeopleResponse: rateOf(sent.People, views.People), PeopleDismissal: rateOf(dismissed.People, views.People),
	}
}

func microTime(micros int64) string {
	return time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05.999999Z")
}

// rateOf is per cent with two decimals, 0 of nothing.
func rateOf(part, total int) number {
	if total == 0 {
		return 0
	}
	return number(math.Round(float64(part)/float64(total)*10_000) / 100)
}
