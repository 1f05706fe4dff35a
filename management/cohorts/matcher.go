package cohorts

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedcohorts"
)

// maxPersons is the maximum number of persons, newest first, that are read to evaluate a dynamic
// cohort or to resolve the e-mail addresses of a CSV file.
const maxPersons = 100_000

// memberKey is the key of the temporary flag that is used to evaluate a cohort.
const memberKey = "member"

// memberFlag returns the definition of a flag that is on for exactly the persons of a cohort.
// Evaluating it decides membership with the same engine and rules as feature flags.
func memberFlag(key string, cohort int64) any {
	property := map[string]any{"type": "cohort", "key": "id", "operator": "in", "value": cohort}
	group := map[string]any{"properties": []any{property}, "rollout_percentage": 100}
	return map[string]any{"id": cohort, "key": key, "active": true, "filters": map[string]any{"groups": []any{group}}}
}

// matcher decides whether persons belong to a cohort. It is a snapshot: changes of cohorts after
// its creation have no effect. It must not be used concurrently, because decisions is reused.
type matcher struct {
	// set contains memberFlag and all cohorts that the cohort references, directly or indirectly.
	set *flags.Set
	now time.Time
	// static contains the distinct ids of the referenced static cohorts, by cohort id.
	static    map[int64]map[string]bool
	decisions flags.Decisions
}

// newMatcher returns a matcher for a stored cohort. record is the cohort's record as it was read:
// callers compare it later to detect concurrent changes.
func (s Service) newMatcher(ctx context.Context, scope *management.Scope, id int64) (m *matcher, record json.RawMessage, err error) {
	return s.newDraftMatcher(ctx, scope, id, nil)
}

// newDraftMatcher is like newMatcher, but if draft is not nil it is used in place of the stored
// cohort with that id.
func (s Service) newDraftMatcher(ctx context.Context, scope *management.Scope, id int64, draft *storedcohorts.Cohort) (m *matcher, record json.RawMessage, err error) {
	m = &matcher{now: s.Env.Now(), static: map[int64]map[string]bool{}}
	err = s.Env.Store.Read(ctx, func(tx storeTx) error {
		p, err := tx.Project(scope.Project.ID)
		if err != nil {
			return err
		}
		if p == nil {
			return management.ErrNoProject()
		}
		document := map[string]any{"flags": []any{memberFlag(memberKey, id)}}
		// The project's settings, such as its timezone, affect the evaluation of dates.
		for name, value := range p.Settings {
			document[name] = value
		}
		graph, err := storedcohorts.ReadGraph(tx, scope)
		if err != nil {
			return err
		}
		cohorts := map[int64]json.RawMessage{}
		if draft != nil {
			graph[id], cohorts[id] = draft.Parts(), storage.Encode(draft.Record)
		}
		if err := m.readCohorts(tx, scope, graph.Reach(id), cohorts); err != nil {
			return err
		}
		record = cohorts[id]
		document["cohorts"] = cohorts
		definitions, err := flags.ParseDefinitions(storage.Encode(document))
		m.set = flags.Compile(definitions)
		return err
	})
	return m, record, err
}

// readCohorts adds the records of the cohorts in ids to cohorts, and the members of the static
// cohorts to m.static. Cohorts that are already in the map or do not exist are skipped.
func (m *matcher) readCohorts(tx storeTx, scope *management.Scope, ids map[int64]bool, cohorts map[int64]json.RawMessage) error {
	for id := range ids {
		if cohorts[id] != nil {
			continue
		}
		d, err := tx.Definition(management.CohortDefinition, scope.Project.ID, id)
		if err != nil {
			return err
		}
		if d == nil || d.Deleted {
			continue
		}
		cohorts[id] = d.Record
		// An error of storedcohorts.Decode is passed on and returned by readMemberSet.
		if c, err := storedcohorts.Decode(d); err != nil || c.Static {
			if m.static[id], err = readMemberSet(tx, scope, id, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// memberPageSize is the number of members that are read from the store at a time.
const memberPageSize = 10_000

// readMemberSet returns all distinct ids of a static cohort. It returns err immediately if that
// is not nil.
func readMemberSet(tx storeTx, scope *management.Scope, id int64, err error) (map[string]bool, error) {
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

// errNotEvaluable is returned for a cohort that cannot be evaluated because a cohort that it
// references is deleted or malformed.
var errNotEvaluable = errors.New("management: the cohort cannot be evaluated")

// match reports whether a person belongs to the cohort. A person with several distinct ids is a
// member of a static cohort if any of these ids is.
func (m *matcher) match(p *management.Person) (bool, error) {
	stored := flags.Stored{Person: p.Properties, CreatedAt: p.CreatedAt, Cohorts: []int64{}}
	// Static cohorts are passed to the engine as facts about the person.
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

// scan calls visit for each person of a cohort, newest first, until visit returns false. It evaluates
// at most maxPersons persons; more reports whether there are others.
func (s Service) scan(ctx context.Context, scope *management.Scope, m *matcher, visit func(*management.Person) bool) (more bool, err error) {
	if s.People == nil {
		return false, nil
	}
	scanned := 0
	var failed error
	err = s.People.Persons(ctx, scope.Project.ID, func(p *management.Person) bool {
		if more = scanned == maxPersons; more {
			return false
		}
		scanned++
		isMember, err := m.match(p)
		if failed = err; err != nil {
			return false
		}
		return !isMember || visit(p)
	})
	return more, errors.Join(err, failed)
}
