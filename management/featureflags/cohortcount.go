package featureflags

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// maxPersons is how many persons, newest first, one evaluation of a dynamic
// cohort looks at, and a search for the e-mail addresses of a file.
const maxPersons = 100_000

// calculateTime bounds the count of a cohort after a write.
const calculateTime = 10 * time.Second

// memberKey is the key of the flag that a cohort is evaluated with.
const memberKey = "member"

// memberFlag is a flag that is on for the persons of a cohort.
func memberFlag(key string, cohort int64) any {
	property := map[string]any{"type": "cohort", "key": "id", "operator": "in", "value": cohort}
	group := map[string]any{"properties": []any{property}, "rollout_percentage": 100}
	return map[string]any{"id": cohort, "key": key, "active": true, "filters": map[string]any{"groups": []any{group}}}
}

// matcher decides whether persons belong to a cohort.
type matcher struct {
	set       *flags.Set
	at        time.Time
	static    map[int64]map[string]bool // distinct ids of the static cohorts that it leads to
	decisions flags.Decisions
}

// matcher reads what a cohort consists of. record is its record in the store, by
// which a change meanwhile is found.
func (s Cohorts) matcher(ctx context.Context, st *management.Standing, id int64) (m *matcher, record json.RawMessage, err error) {
	return s.matcherOf(ctx, st, id, nil)
}

// matcherOf is matcher, of a draft that is not stored where there is one.
func (s Cohorts) matcherOf(ctx context.Context, st *management.Standing, id int64, draft *storedCohort) (m *matcher, record json.RawMessage, err error) {
	m = &matcher{at: s.Desk.Now(), static: map[int64]map[string]bool{}}
	err = s.Desk.Store.Read(ctx, func(tx Tx) error {
		p, err := tx.Project(st.Project.ID)
		if err != nil {
			return err
		}
		if p == nil {
			return management.ErrNoProject()
		}
		document := map[string]any{"flags": []any{memberFlag(memberKey, id)}}
		for name, value := range p.Settings {
			document[name] = value
		}
		graph, err := graphOfCohorts(tx, st)
		if err != nil {
			return err
		}
		cohorts := map[int64]json.RawMessage{}
		if draft != nil {
			graph[id], cohorts[id] = draft.parts(), management.Encode(draft.cohortRecord)
		}
		if err := m.read(tx, st, graph.reach(id), cohorts); err != nil {
			return err
		}
		record = cohorts[id]
		document["cohorts"] = cohorts
		definitions, err := flags.ParseDefinitions(management.Encode(document))
		m.set = flags.Compile(definitions)
		return err
	})
	return m, record, err
}

// read reads cohorts that are not there yet, and who is in the static ones of them.
func (m *matcher) read(tx Tx, st *management.Standing, ids map[int64]bool, cohorts map[int64]json.RawMessage) error {
	for id := range ids {
		if cohorts[id] != nil {
			continue
		}
		d, err := tx.Definition(CohortDefinition, st.Project.ID, id)
		if err != nil {
			return err
		}
		if d == nil || d.Deleted {
			continue
		}
		cohorts[id] = d.Record
		if c, err := decodeCohort(d); err != nil || c.Static {
			if m.static[id], err = memberSet(tx, st, id, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// memberStep is how many members are read at a time.
const memberStep = 10_000

// memberSet are the members of a static cohort.
func memberSet(tx Tx, st *management.Standing, id int64, err error) (map[string]bool, error) {
	out := map[string]bool{}
	after := ""
	for err == nil {
		var page []string
		page, err = tx.Members(st.Project.ID, id, after, memberStep)
		for _, member := range page {
			out[member] = true
			after = member
		}
		if len(page) < memberStep {
			break
		}
	}
	return out, err
}

// errNotEvaluable is a cohort that cannot be counted: one that it leads to is gone
// or cannot be read.
var errNotEvaluable = errors.New("management: the cohort cannot be evaluated")

func (m *matcher) match(p *Person) (bool, error) {
	stored := flags.Stored{Person: p.Properties, CreatedAt: p.CreatedAt, Cohorts: []int64{}}
	for cohort, members := range m.static {
		for _, id := range p.DistinctIDs {
			if members[id] {
				stored.Cohorts = append(stored.Cohorts, cohort)
				break
			}
		}
	}
	subject := flags.Subject{Stored: &stored}
	if len(p.DistinctIDs) > 0 {
		subject.DistinctID = p.DistinctIDs[0]
	}
	m.set.Evaluate(&subject, m.at, &m.decisions)
	d := m.decisions.Find(memberKey)
	if d == nil || d.Failed() {
		return false, errNotEvaluable
	}
	return d.Enabled, nil
}

// scan calls visit for the persons of a cohort, newest first, until it says false.
func (s Cohorts) scan(ctx context.Context, st *management.Standing, m *matcher, visit func(*Person) bool) error {
	if s.People == nil {
		return nil
	}
	looked := 0
	var failed error
	err := s.People.Persons(ctx, st.Project.ID, func(p *Person) bool {
		looked++
		in, err := m.match(p)
		if failed = err; err != nil {
			return false
		}
		return (!in || visit(p)) && looked < maxPersons
	})
	return errors.Join(err, failed)
}

// calculate counts the persons of a dynamic cohort and keeps what came of it. A
// count that fails is noted, and the one before stays.
func (s Cohorts) calculate(ctx context.Context, st *management.Standing, id int64) error {
	started := s.Desk.Now()
	within, cancel := context.WithTimeout(ctx, calculateTime)
	defer cancel()
	m, record, failed := s.matcher(within, st, id)
	n := 0
	if failed == nil {
		failed = s.scan(within, st, m, func(*Person) bool { n++; return true })
	}
	return s.Desk.Store.Write(ctx, func(tx Tx) error {
		d, err := tx.Definition(CohortDefinition, st.Project.ID, id)
		if err != nil || d == nil || d.Deleted || record != nil && !bytes.Equal(d.Record, record) {
			return err // somebody has changed it, and counts as well
		}
		again, err := decodeCohort(d)
		if err != nil {
			return err
		}
		run := cohortCalculation{ID: s.Desk.NewID(), Filters: rawOr(again.Filters, "null"), Started: management.At(started), Finished: management.At(s.Desk.Now())}
		if failed != nil {
			again.Errors++
			run.Error = uncounted(failed)
		} else {
			again.Errors, again.Count, again.LastCalculation = 0, &n, management.At(started)
			run.Count = &n
		}
		if err := again.put(tx, st); err != nil {
			return err
		}
		if err := s.plantNext(tx, st.Project.ID, id); err != nil {
			return err
		}
		return keepCalculation(tx, st, id, &run)
	})
}

// uncounted is why a count has failed, in words for everybody.
func uncounted(err error) *string {
	text := "The persons could not be read."
	switch {
	case errors.Is(err, errNotEvaluable):
		text = "The cohort cannot be evaluated: one that it refers to is gone or cannot be read."
	case errors.Is(err, context.DeadlineExceeded):
		text = "The count took too long."
	}
	return &text
}

// kindCalculation is a count of a cohort: Parent is the cohort, Sort the time.
const kindCalculation = "cohort_calculation"

// maxCalculations is how many counts of a cohort are kept.
const maxCalculations = 100

// cohortCalculation is one count of a dynamic cohort.
type cohortCalculation struct {
	ID       string           `json:"id"`
	Filters  json.RawMessage  `json:"filters"`
	Count    *int             `json:"count"`
	Started  management.Stamp `json:"started_at"`
	Finished management.Stamp `json:"finished_at"`
	Error    *string          `json:"error"`
}

func cohortParent(project, cohort int64) string {
	return fmt.Sprintf("%s/cohort:%d", management.ProjectParent(project), cohort)
}

func keepCalculation(tx Tx, st *management.Standing, cohort int64, run *cohortCalculation) error {
	n, err := tx.Next(kindCalculation)
	if err != nil {
		return err
	}
	parent := cohortParent(st.Project.ID, cohort)
	if err := tx.Put(&management.Record{Kind: kindCalculation, Parent: parent, ID: run.ID, Sort: management.SortNumber(n), Data: management.Encode(run)}); err != nil {
		return err
	}
	old, _, err := tx.List(management.Query{Kind: kindCalculation, Parent: parent, Descending: true, Offset: maxCalculations})
	for i := 0; i < len(old) && err == nil; i++ {
		err = tx.Delete(kindCalculation, parent, old[i].ID)
	}
	return err
}

// Calculations are the last counts of a cohort, newest first.
func (s Cohorts) Calculations(ctx context.Context, st *management.Standing, id string, p management.Page) (management.List[cohortCalculation], error) {
	return management.Of(ctx, s.resource(nil, false), st, id, func(v *view, c *storedCohort) (management.List[cohortCalculation], error) {
		return management.ListRecords[cohortCalculation](v.Tx, management.Query{
			Kind: kindCalculation, Parent: cohortParent(st.Project.ID, c.ID), Descending: true, Offset: p.Offset, Limit: p.Limit,
		})
	})
}
