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
	now       time.Time
	static    map[int64]map[string]bool // distinct ids of the static cohorts that it leads to
	decisions flags.Decisions
}

// newMatcher reads what a cohort consists of. record is its record in the store, by
// which a change meanwhile is found.
func (s Cohorts) newMatcher(ctx context.Context, scope *management.Scope, id int64) (m *matcher, record json.RawMessage, err error) {
	return s.newDraftMatcher(ctx, scope, id, nil)
}

// newDraftMatcher is matcher, of a draft that is not stored where there is one.
func (s Cohorts) newDraftMatcher(ctx context.Context, scope *management.Scope, id int64, draft *storedCohort) (m *matcher, record json.RawMessage, err error) {
	m = &matcher{now: s.Env.Now(), static: map[int64]map[string]bool{}}
	err = s.Env.Store.Read(ctx, func(tx Tx) error {
		p, err := tx.Project(scope.Project.ID)
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
		graph, err := graphOfCohorts(tx, scope)
		if err != nil {
			return err
		}
		cohorts := map[int64]json.RawMessage{}
		if draft != nil {
			graph[id], cohorts[id] = draft.parts(), management.Encode(draft.cohortRecord)
		}
		if err := m.readCohorts(tx, scope, graph.reach(id), cohorts); err != nil {
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

// readCohorts reads cohorts that are not there yet, and who is in the static ones of them.
func (m *matcher) readCohorts(tx Tx, scope *management.Scope, ids map[int64]bool, cohorts map[int64]json.RawMessage) error {
	for id := range ids {
		if cohorts[id] != nil {
			continue
		}
		d, err := tx.Definition(CohortDefinition, scope.Project.ID, id)
		if err != nil {
			return err
		}
		if d == nil || d.Deleted {
			continue
		}
		cohorts[id] = d.Record
		if c, err := decodeCohort(d); err != nil || c.Static {
			if m.static[id], err = readMemberSet(tx, scope, id, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// memberPageSize is how many members are read at a time.
const memberPageSize = 10_000

// readMemberSet are the members of a static cohort.
func readMemberSet(tx Tx, scope *management.Scope, id int64, err error) (map[string]bool, error) {
	out := map[string]bool{}
	after := ""
	for err == nil {
		var page []string
		page, err = tx.Members(scope.Project.ID, id, after, memberPageSize)
		for _, member := range page {
			out[member] = true
			after = member
		}
		if len(page) < memberPageSize {
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
	m.set.Evaluate(&subject, m.now, &m.decisions)
	d := m.decisions.Find(memberKey)
	if d == nil || d.Failed() {
		return false, errNotEvaluable
	}
	return d.Enabled, nil
}

// scan calls visit for the persons of a cohort, newest first, until it says false.
func (s Cohorts) scan(ctx context.Context, scope *management.Scope, m *matcher, visit func(*Person) bool) error {
	if s.People == nil {
		return nil
	}
	scanned := 0
	var failed error
	err := s.People.Persons(ctx, scope.Project.ID, func(p *Person) bool {
		scanned++
		isMember, err := m.match(p)
		if failed = err; err != nil {
			return false
		}
		return (!isMember || visit(p)) && scanned < maxPersons
	})
	return errors.Join(err, failed)
}

// calculate counts the persons of a dynamic cohort and keeps what came of it. A
// count that fails is noted, and the one before stays.
func (s Cohorts) calculate(ctx context.Context, scope *management.Scope, id int64) error {
	started := s.Env.Now()
	limited, cancel := context.WithTimeout(ctx, calculateTime)
	defer cancel()
	m, record, failed := s.newMatcher(limited, scope, id)
	n := 0
	if failed == nil {
		failed = s.scan(limited, scope, m, func(*Person) bool { n++; return true })
	}
	return s.Env.Store.Write(ctx, func(tx Tx) error {
		d, err := tx.Definition(CohortDefinition, scope.Project.ID, id)
		if err != nil || d == nil || d.Deleted || record != nil && !bytes.Equal(d.Record, record) {
			return err // somebody has changed it, and counts as well
		}
		current, err := decodeCohort(d)
		if err != nil {
			return err
		}
		run := cohortCalculation{ID: s.Env.NewID(), Filters: rawOr(current.Filters, "null"), Started: management.NewStamp(started), Finished: management.NewStamp(s.Env.Now())}
		if failed != nil {
			current.Errors++
			run.Error = countErrorText(failed)
		} else {
			current.Errors, current.Count, current.LastCalculation = 0, &n, management.NewStamp(started)
			run.Count = &n
		}
		if err := current.put(tx, scope); err != nil {
			return err
		}
		if err := s.plantNext(tx, scope.Project.ID, id); err != nil {
			return err
		}
		return saveCalculation(tx, scope, id, &run)
	})
}

// countErrorText is why a count has failed, in words for everybody.
func countErrorText(err error) *string {
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

func saveCalculation(tx Tx, scope *management.Scope, cohort int64, run *cohortCalculation) error {
	n, err := tx.Next(kindCalculation)
	if err != nil {
		return err
	}
	parent := cohortParent(scope.Project.ID, cohort)
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
func (s Cohorts) Calculations(ctx context.Context, scope *management.Scope, id string, p management.Page) (management.List[cohortCalculation], error) {
	return management.ReadOne(ctx, s.resource(nil, false), scope, id, func(v *view, c *storedCohort) (management.List[cohortCalculation], error) {
		return management.ListRecords[cohortCalculation](v.Tx, management.Query{
			Kind: kindCalculation, Parent: cohortParent(scope.Project.ID, c.ID), Descending: true, Offset: p.Offset, Limit: p.Limit,
		})
	})
}
