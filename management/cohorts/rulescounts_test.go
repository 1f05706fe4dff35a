package cohorts_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/rooms"
)

// errPeople is a failure of the store of persons.
var errPeople = errors.New("the persons cannot be read")

// hookedPeople are somePeople with a function that is called before every reading. If it returns an
// error, the reading fails.
type hookedPeople struct {
	*flagtest.People
	before func() error
}

func (h *hookedPeople) call() error {
	if h.before == nil {
		return nil
	}
	return h.before()
}

func (h *hookedPeople) Persons(ctx context.Context, project int64, visit func(*management.Person) bool) error {
	if err := h.call(); err != nil {
		return err
	}
	return h.People.Persons(ctx, project, visit)
}

func (h *hookedPeople) PersonByUUID(ctx context.Context, project int64, uuid string) (*management.Person, error) {
	if err := h.call(); err != nil {
		return nil, err
	}
	return h.People.PersonByUUID(ctx, project, uuid)
}

func (h *hookedPeople) PersonByDistinctID(ctx context.Context, project int64, id string) (*management.Person, error) {
	if err := h.call(); err != nil {
		return nil, err
	}
	return h.People.PersonByDistinctID(ctx, project, id)
}

// once sets a function that is called before the next reading only.
func (h *hookedPeople) once(do func()) {
	h.before = func() error {
		h.before = nil
		do()
		return nil
	}
}

// hookedWorld returns a World with hookedPeople and dynamic cohort 1 of two persons, and a function
// that runs rows.
func hookedWorld(t *testing.T) (p *hookedPeople, w *ruletest.World, run func(...ruletest.Row)) {
	t.Helper()
	p = &hookedPeople{People: flagtest.SomePeople()}
	w = worldOf(t, p)
	calls := flagtest.RoomCalls(t, w)
	run = func(rows ...ruletest.Row) { t.Helper(); w.Run(t, calls, rows) }
	run(ruletest.Row{"§5.2", "bob", "cohort", tree("AND", flagtest.Plan), `{"id":1,"count":2}`})
	return p, w, run
}

// A count that fails is recorded with a reason that contains no details of the failure; the cohort
// is stored all the same, and its count stays.
func TestCohorts_CountFails(t *testing.T) {
	p, _, run := hookedWorld(t)
	p.before = func() error { return errPeople }
	run(
		ruletest.Row{"§5.2 the change is stored", "bob", "changecohort 1", `{"name":"x"}`, `{"name":"x","count":2,"errors_calculating":1,"last_calculation":"2026-01-02T12:00:01Z","is_calculating":false}`},
		ruletest.Row{"§5.2 calculation_history", "bob", "counts 1", ``, `{"count":2,"results":[{"count":null,"error":"The persons could not be read.","started_at":"2026-01-02T12:00:02Z","finished_at":"2026-01-02T12:00:02Z"},{"count":2,"error":null}]}`},
		ruletest.Row{"§5.2 a new cohort has no count yet", "bob", "cohort", tree("OR", flagtest.Plan), `{"id":2,"count":null,"errors_calculating":1,"last_calculation":null}`},
	)
	p.before = func() error { return fmt.Errorf("reading: %w", context.DeadlineExceeded) }
	run(
		ruletest.Row{"§5.2 failures are added up", "bob", "changecohort 1", `{"name":"y"}`, `{"count":2,"errors_calculating":2}`},
		ruletest.Row{"§5.2 a count that was too slow", "bob", "counts 1", `{"Limit":1}`, `{"count":3,"results":[{"count":null,"error":"The count took too long."}]}`},
	)
	p.before = func() error { return errPeople }
	run(
		ruletest.Row{"in the background", "bob", "wait 1h", ``, `null`},
		ruletest.Row{"in the background", "bob", "countdue", ``, `true`},
		ruletest.Row{"in the background: cohort 2", "bob", "countdue", ``, `true`},
		ruletest.Row{"in the background", "bob", "getcohort 1", ``, `{"count":2,"errors_calculating":3}`},
		ruletest.Row{"it is not repeated within the hour", "bob", "wait 59m", ``, `null`},
		ruletest.Row{"it is not repeated within the hour", "bob", "countdue", ``, `false`},
	)
	p.before = nil
	run(
		ruletest.Row{"the next count succeeds", "bob", "wait 1m", ``, `null`},
		ruletest.Row{"the next count succeeds", "bob", "countdue", ``, `true`},
		ruletest.Row{"the next count succeeds: cohort 2", "bob", "countdue", ``, `true`},
		ruletest.Row{"the next count succeeds", "bob", "getcohort 1", ``, `{"count":2,"errors_calculating":0,"last_calculation":"(like) ^2026-01-02T14:"}`},
	)
}

// If a cohort is changed while it is counted, the count of the former filters is not stored.
func TestCohorts_ChangedDuringACount(t *testing.T) {
	emails := tree("AND", `{"type":"person","key":"email","operator":"is_set"}`)
	t.Run("changed", func(t *testing.T) {
		p, _, run := hookedWorld(t)
		p.once(func() {
			run(ruletest.Row{"the other change", "cyd", "changecohort 1", emails, `{"count":3}`})
		})
		run(
			ruletest.Row{"§5.2", "bob", "changecohort 1", `{"name":"x"}`, `{"name":"x","count":3,"filters":{"properties":{"values":[{"key":"email"}]}}}`},
			ruletest.Row{"§5.2 calculation_history", "bob", "counts 1", ``, `{"count":2,"results":[{"count":3},{"count":2}]}`},
		)
	})
	t.Run("deleted", func(t *testing.T) {
		p, _, run := hookedWorld(t)
		p.once(func() {
			run(ruletest.Row{"the other change", "cyd", "changecohort 1", `{"deleted":true}`, `{"deleted":true}`})
		})
		run(
			ruletest.Row{"§5.2", "bob", "changecohort 1", emails, `{"deleted":true,"count":2}`},
			ruletest.Row{"§5.2 calculation_history", "bob", "counts 1", ``, `{"count":1}`},
		)
	})
	t.Run("in the background", func(t *testing.T) {
		p, _, run := hookedWorld(t)
		run(ruletest.Row{"an hour later", "bob", "wait 1h", ``, `null`})
		p.once(func() {
			run(
				ruletest.Row{"another server finds no work", "bob", "countdue", ``, `false`},
				ruletest.Row{"the other change", "cyd", "changecohort 1", emails, `{"count":3}`},
			)
		})
		run(
			ruletest.Row{"§5.2", "bob", "countdue", ``, `true`},
			ruletest.Row{"§5.2", "bob", "getcohort 1", ``, `{"count":3}`},
			ruletest.Row{"§5.2 calculation_history", "bob", "counts 1", ``, `{"count":2,"results":[{"count":3},{"count":2}]}`},
			ruletest.Row{"the change has scheduled the next count", "bob", "countdue", ``, `false`},
		)
	})
}

// CountDue counts the cohort that has been due for the longest time.
func TestCohorts_CountDueInOrder(t *testing.T) {
	_, w, run := hookedWorld(t)
	run(
		ruletest.Row{"§5.2", "bob", "wait 30m", ``, `null`},
		ruletest.Row{"§5.2", "bob", "cohort", tree("OR", flagtest.Plan), `{"id":2}`},
		ruletest.Row{"§5.2", "dan", "cohort", tree("AND"), `{"id":3,"count":0}`},
		ruletest.Row{"only the first is due", "bob", "wait 30m", ``, `null`},
		ruletest.Row{"only the first is due", "bob", "countdue", ``, `true`},
		ruletest.Row{"only the first is due", "bob", "countdue", ``, `false`},
		ruletest.Row{"the second and the third", "bob", "wait 30m", ``, `null`},
		ruletest.Row{"the second and the third", "bob", "countdue", ``, `true`},
		ruletest.Row{"the second and the third", "bob", "getcohort 2", ``, `{"last_calculation":"(like) ^2026-01-02T13:30:"}`},
		ruletest.Row{"the second and the third", "dan", "getcohort 3", ``, `{"last_calculation":"(like) ^2026-01-02T12:30:"}`},
		ruletest.Row{"the second and the third", "bob", "countdue", ``, `true`},
		ruletest.Row{"the second and the third", "dan", "getcohort 3", ``, `{"last_calculation":"(like) ^2026-01-02T13:30:"}`},
		ruletest.Row{"the second and the third", "bob", "countdue", ``, `false`},
		ruletest.Row{"cohorts of a document are counted soon, one at a time", "bob", "apply", flagtest.Document(``, `{"name":"A","filters":{"properties":{"type":"AND","values":[`+flagtest.Plan+`]}}},{"name":"B","filters":{"properties":{"type":"OR","values":[`+flagtest.Plan+`]}}},{"name":"C","is_static":true}`),
			`{"changes":[{"name":"A"},{"name":"B"},{"name":"C"}]}`},
		ruletest.Row{"cohorts of a document are counted soon, one at a time", "bob", "cohorts", `{"Type":"dynamic","Limit":2}`, `{"results":[{"count":null},{"count":null}]}`},
		ruletest.Row{"cohorts of a document are counted soon, one at a time", "bob", "countdue", ``, `true`},
		ruletest.Row{"cohorts of a document are counted soon, one at a time", "bob", "countdue", ``, `true`},
		ruletest.Row{"cohorts of a document are counted soon, one at a time", "bob", "countdue", ``, `false`},
		ruletest.Row{"cohorts of a document are counted soon, one at a time", "bob", "cohorts", `{"Type":"dynamic","Limit":2}`, `{"results":[{"count":2},{"count":2}]}`},
		ruletest.Row{"one that has become static is counted when it is read", "bob", "changecohort 1", `{"is_static":true}`, `{"is_static":true,"count":0}`},
		ruletest.Row{"one that has become static is counted when it is read", "bob", "wait 2h", ``, `null`},
	)
	// A deleted project has no cohorts to count. In Project, 1 has become static, and 2, A and B
	// remain.
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		p, err := tx.Project(ruletest.TheirProject)
		if err != nil {
			return err
		}
		p.Deleted = true
		return tx.PutProject(p)
	})
	if err != nil {
		t.Fatal(err)
	}
	counted := 0
	for more := true; more && counted < 10; counted++ {
		if more, err = w.Cohorts.CountDue(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if counted != 6 { // 1 and 3 without a count, three counts, and the call that finds no work
		t.Errorf("%d calls until no cohort is due, want 6", counted)
	}
	run(
		ruletest.Row{"§5.2", "bob", "getcohort 2", ``, `{"last_calculation":"(like) ^2026-01-02T15:30:"}`},
		ruletest.Row{"only the three cohorts are due later", "bob", "wait 1h", ``, `null`},
		ruletest.Row{"only the three cohorts are due later", "bob", "countdue", ``, `true`},
		ruletest.Row{"only the three cohorts are due later", "bob", "countdue", ``, `true`},
		ruletest.Row{"only the three cohorts are due later", "bob", "countdue", ``, `true`},
		ruletest.Row{"only the three cohorts are due later", "bob", "countdue", ``, `false`},
	)
}

// The history of a cohort has its last 100 counts.
func TestCohorts_CalculationHistory(t *testing.T) {
	_, w, run := hookedWorld(t)
	const last = `{"count":100,"results":[{"started_at":"2026-01-02T12:%02d:%02dZ"}]}`
	for i := range 99 {
		run(ruletest.Row{"§5.2", "bob", "changecohort 1", fmt.Sprintf(`{"description":"%d"}`, i), `{"count":2}`})
	}
	w.Clock = ruletest.Start.Add(200e9)
	run(
		ruletest.Row{"§5.2 100 counts, the oldest is that of the creation", "bob", "counts 1", `{"Offset":99}`, fmt.Sprintf(last, 0, 1)},
		ruletest.Row{"§5.2 one more", "bob", "changecohort 1", `{"description":"last"}`, `{"count":2}`},
		ruletest.Row{"§5.2 the oldest is that of the first change", "bob", "counts 1", `{"Offset":99}`, fmt.Sprintf(last, 0, 2)},
		ruletest.Row{"§5.2 the newest", "bob", "counts 1", `{"Limit":1}`, fmt.Sprintf(last, 3, 22)},
	)
}

// If persons cannot be read, a request that needs them returns that failure and changes no data.
func TestCohorts_PersonsCannotBeRead(t *testing.T) {
	p, w, run := hookedWorld(t)
	run(ruletest.Row{"§5.2", "bob", `file {"name":"listed","is_static":true}`, "vic\n", `{"id":2,"count":1}`})
	stored := func() (state string) {
		err := w.Store.Read(t.Context(), func(tx rooms.Tx) error {
			cohorts, _, err := tx.Definitions(management.DefinitionQuery{Kind: management.CohortDefinition, Project: ruletest.Project})
			if err != nil {
				return err
			}
			members, err := tx.Members(ruletest.Project, 2, "", 10)
			state = fmt.Sprintf("%s %v", storage.Encode(cohorts), members)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	before := stored()
	for _, c := range []struct{ call, body string }{
		{"preview", tree("AND", flagtest.Plan)},
		{"match", `{"lines":["una"]}`},
		{"match", `{"lines":["una@example.com"]}`},
		{"persons 1 10", ``},
		{"persons 2 10", ``},
		{"duplicate 1", ``},
		{"cohort", `{"is_static":true,"_create_static_person_ids":["` + flagtest.Una + `"]}`},
		{`file {"is_static":true}`, "person_id\n" + flagtest.Una},
		{`file {"is_static":true}`, "email\nuna@example.com"},
		{"morefile 2", "email\nuna@example.com"},
		{"addpersons 2", `{"person_ids":["` + flagtest.Una + `"]}`},
		{"removeperson 2", `{"person_id":"` + flagtest.Vic + `"}`},
	} {
		p.before = func() error { return errPeople }
		name, path, _ := strings.Cut(c.call, " ")
		_, err := flagtest.RoomCalls(t, w)[name](w.Scope(t, "bob"), path, c.body)
		if !errors.Is(err, errPeople) {
			t.Errorf("%s %s: %v, want the failure", c.call, c.body, err)
		}
		if after := stored(); after != before {
			t.Errorf("%s %s has changed %s to %s", c.call, c.body, before, after)
		}
	}
}

func TestCohorts_Counts(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{"counts": countRows, "counted again": recountRows})
}

var countRows = []ruletest.Row{
	{"§5.2 counted when it is made", "bob", "cohort", tree("AND", flagtest.Plan), `{"id":1,"count":2,"last_calculation":"2026-01-02T12:00:01Z","is_calculating":false,"errors_calculating":0}`},
	{"§5.2 and when it changes", "bob", "changecohort 1", tree("AND", flagtest.Plan, `{"type":"person","key":"age","value":"30","operator":"lt"}`), `{"count":1,"last_calculation":"2026-01-02T12:00:02Z"}`},
	{"§5.2 calculation_history, newest first", "bob", "counts 1", ``, `{"count":2,"results":[
		{"count":1,"error":null,"started_at":"2026-01-02T12:00:02Z","finished_at":"2026-01-02T12:00:02Z","filters":{"properties":{"values":[{"key":"plan"},{"key":"age"}]}}},
		{"count":2,"error":null,"started_at":"2026-01-02T12:00:01Z"}]}`},
	{"§3 a page", "bob", "counts 1", `{"Limit":1,"Offset":1}`, `{"count":2,"results":[{"count":2}]}`},
	{"§5.2 of none", "bob", "counts 9", ``, `404 not_found - Not found.`},
	{"§5.2 of another project's", "dan", "counts 1", ``, `404 not_found - Not found.`},
	{"§5.2 static ones are not calculated", "bob", "cohort", `{"is_static":true}`, `{"id":2,"count":0}`},
	{"§5.2 static ones are not calculated", "bob", "counts 2", ``, `{"count":0,"results":[]}`},
	{"§5.2 deleted ones are not calculated", "bob", "changecohort 1", `{"deleted":true}`, `{"count":1,"last_calculation":"2026-01-02T12:00:02Z"}`},
	{"§5.2 deleted ones are not calculated", "bob", "counts 1", ``, `{"count":2}`},
	{"§5.2 brought back", "bob", "changecohort 1", `{"deleted":false}`, `{"deleted":false,"last_calculation":"2026-01-02T12:00:11Z"}`},
	{"flags.md §5.5 nobody is in one of events", "bob", "cohort", tree("AND", flagtest.Performed), `{"count":0}`},
	{"flags.md §5.3 one that it needs is deleted", "bob", "cohort", tree("AND", `{"type":"cohort","key":"id","value":1}`), `{"id":4,"count":1}`},
	{"flags.md §5.3 one that it needs is deleted", "bob", "changecohort 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.2 a count that fails is noted, the one before stays", "bob", "changecohort 4", `{"name":"x"}`, `{"count":1,"errors_calculating":1}`},
	{"§5.2 a count that fails is noted, the one before stays", "bob", "counts 4", `{"Limit":1}`, `{"count":2,"results":[{"count":null,"error":"(like) cannot be evaluated"}]}`},
	{"§5.2 the next good one", "bob", "changecohort 1", `{"deleted":false}`, `{"deleted":false}`},
	{"§5.2 the next good one", "bob", "changecohort 4", `{"name":"y"}`, `{"count":1,"errors_calculating":0}`},
}

var recountRows = []ruletest.Row{
	{"§5.2 counted when it is made", "bob", "cohort", tree("AND", flagtest.Plan), `{"id":1,"count":2,"last_calculation":"2026-01-02T12:00:01Z"}`},
	{"not again within the hour", "bob", "wait 59m", ``, `null`},
	{"not again within the hour", "bob", "countdue", ``, `false`},
	{"not again within the hour", "bob", "getcohort 1", ``, `{"last_calculation":"2026-01-02T12:00:01Z"}`},
	{"again after an hour, and says when", "bob", "wait 1m", ``, `null`},
	{"again after an hour, and says when", "bob", "countdue", ``, `true`},
	{"again after an hour, and says when", "bob", "getcohort 1", ``, `{"count":2,"last_calculation":"(like) ^2026-01-02T13:00:"}`},
	{"once", "bob", "countdue", ``, `false`},
	{"and every hour", "bob", "wait 1h", ``, `null`},
	{"and every hour", "bob", "countdue", ``, `true`},
	{"and every hour", "bob", "getcohort 1", ``, `{"count":2,"last_calculation":"(like) ^2026-01-02T14:00:"}`},
	{"a deleted one is not counted", "bob", "changecohort 1", `{"deleted":true}`, `{"deleted":true}`},
	{"a deleted one is not counted", "bob", "wait 2h", ``, `null`},
	{"a deleted one is not counted", "bob", "countdue", ``, `true`},
	{"a deleted one is not counted", "bob", "countdue", ``, `false`},
	{"a deleted one is not counted", "bob", "getcohort 1", ``, `{"last_calculation":"(like) ^2026-01-02T14:00:"}`},
	{"static ones are counted when they are shown", "bob", "cohort", `{"is_static":true}`, `{"id":2,"count":0}`},
	{"static ones are counted when they are shown", "bob", "wait 2h", ``, `null`},
	{"static ones are counted when they are shown", "bob", "countdue", ``, `false`},
	{"one of a document is counted soon", "bob", "apply", `{"flags":[],"cohorts":[{"name":"applied","filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}}}]}`, `{"changes":[{"name":"applied","action":"create"}]}`},
	{"one of a document is counted soon", "bob", "countdue", ``, `true`},
	{"one of a document is counted soon", "bob", "getcohort 3", ``, `{"name":"applied","count":2,"last_calculation":"(like) ^2026-01-02T1"}`},
	{"one of a document is counted soon", "bob", "countdue", ``, `false`},
}

// A static cohort that is too large to be counted on every read is counted every hour.
func TestCohorts_LargeListsAreCountedAgain(t *testing.T) {
	w := flagtest.New(t)
	calls := flagtest.RoomCalls(t, w)
	const half, many = 60_000, 120_000
	file := func(from int) string {
		var b strings.Builder
		for i := range half {
			fmt.Fprintf(&b, "id-%d\n", from+i)
		}
		return b.String()
	}
	w.Run(t, calls, []ruletest.Row{
		{"made", "bob", `file {"name":"many","is_static":true}`, file(0), fmt.Sprintf(`{"id":1,"count":%d}`, half)},
		{"made", "bob", "morefile 1", file(half), fmt.Sprintf(`{"count":%d}`, many)},
	})
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error { return tx.RemoveMembers(ruletest.Project, 1, []string{"id-0"}) }) // like the erasure of a person
	if err != nil {
		t.Fatal(err)
	}
	w.Run(t, calls, []ruletest.Row{
		{"as it was", "bob", "wait 1h", ``, `null`},
		{"as it was", "bob", "getcohort 1", ``, fmt.Sprintf(`{"count":%d}`, many)},
		{"after an hour", "bob", "countdue", ``, `true`},
		{"after an hour", "bob", "countdue", ``, `false`},
		{"after an hour", "bob", "getcohort 1", ``, fmt.Sprintf(`{"count":%d,"last_calculation":"(like) ^2026-01-02T13:"}`, many-1)},
	})
}
