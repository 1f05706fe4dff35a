package cohorts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// worldOf is like newWorld with other persons. The store knows the distinct ids of somePeople.
func worldOf(t *testing.T, p management.People) *ruletest.World {
	t.Helper()
	var ids [][]string
	for _, person := range flagtest.SomePeople().All {
		ids = append(ids, person.DistinctIDs)
	}
	return ruletest.New(t, memstore.New(memstore.ExternalData{Persons: map[int64][][]string{ruletest.Project: ids}}), func(c *rooms.Config) { c.People = p })
}

// generatedPeople are n persons of every project, newest first. person returns one of them by its
// index.
type generatedPeople struct {
	*flagtest.People
	n      int
	person func(i int) management.Person
}

func (g *generatedPeople) CountPersons(context.Context, int64) (int, error) { return g.n, nil }

func (g *generatedPeople) Persons(_ context.Context, _ int64, visit func(*management.Person) bool) error {
	for i := range g.n {
		if p := g.person(i); !visit(&p) {
			break
		}
	}
	return nil
}

func TestCohorts_Previews(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{"previews": previewRows, "refusals": previewRefusalRows, "matches": matchRows, "cohorts of a person": cohortsOfPersonRows})
}

var previewRows = []ruletest.Row{
	{"N17 the persons, newest first", "bob", "preview", tree("AND", flagtest.Plan), `{"Count":2,"Exact":true,"UUIDs":["` + flagtest.Una + `","` + flagtest.Vic + `"]}`},
	{"N17 no person", "bob", "preview", tree("OR"), `{"Count":0,"Exact":true,"UUIDs":null}`},
	{"N17 every person", "bob", "preview", tree("AND"), `{"Count":4,"Exact":true}`},
	{"N17 persons of another project", "dan", "preview", tree("AND"), `{"Count":0,"Exact":true}`},
	{"N17 nothing is saved", "bob", "cohorts", ``, `{"count":0}`},
	{"N17 with a saved cohort", "bob", "cohort", tree("AND", flagtest.Plan), `{"id":1}`},
	{"N17 with a saved cohort", "bob", "preview", tree("AND", `{"type":"cohort","key":"id","value":1,"negation":true}`), `{"Count":2,"Exact":true,"UUIDs":["` + flagtest.Wes + `","` + flagtest.Xia + `"]}`},
	{"N17 with a list", "bob", `file {"is_static":true}`, "vic2\nxia\n", `{"id":2}`},
	{"N17 with a list", "bob", "preview", tree("OR", `{"type":"cohort","key":"id","value":2}`), `{"Count":2,"Exact":true,"UUIDs":["` + flagtest.Vic + `","` + flagtest.Xia + `"]}`},
	// Filters on events match no person (flags.md §5.5), so the number is not exact.
	{"N17 filters on events are not evaluated", "bob", "preview", tree("OR", flagtest.Plan, flagtest.Performed), `{"Count":2,"Exact":false,"UUIDs":["` + flagtest.Una + `","` + flagtest.Vic + `"]}`},
	{"N17 nor those of a saved cohort", "bob", "cohort", tree("AND", flagtest.Performed), `{"id":3}`},
	{"N17 nor those of a saved cohort", "bob", "preview", tree("OR", flagtest.Plan, `{"type":"cohort","key":"id","value":3}`), `{"Count":2,"Exact":false}`},
	{"N17 nor those two cohorts away", "bob", "cohort", tree("OR", `{"type":"cohort","key":"id","value":3}`), `{"id":4}`},
	{"N17 nor those two cohorts away", "bob", "preview", tree("OR", flagtest.Plan, `{"type":"cohort","key":"id","value":4}`), `{"Count":2,"Exact":false}`},
	{"N17 those of other cohorts do not matter", "bob", "preview", tree("OR", flagtest.Plan, `{"type":"cohort","key":"id","value":1}`), `{"Count":2,"Exact":true}`},
	// Cohort 5 needs cohort 1, which is deleted.
	{"flags.md §5.3 a cohort that cannot be evaluated", "bob", "cohort", tree("AND", `{"type":"cohort","key":"id","value":1}`), `{"id":5}`},
	{"flags.md §5.3 a cohort that cannot be evaluated", "bob", "changecohort 1", `{"deleted":true}`, `{"deleted":true}`},
	{"flags.md §5.3 a cohort that cannot be evaluated", "bob", "preview", tree("AND", `{"type":"cohort","key":"id","value":5}`), `400 invalid_input filters The cohort cannot be evaluated.`},
	{"flags.md §5.3 its persons", "bob", "persons 5 10", ``, `400 invalid_input - The cohort cannot be evaluated.`},
	{"flags.md §5.3 its copy", "bob", "duplicate 5", ``, `400 invalid_input - The cohort cannot be evaluated.`},
}

var previewRefusalRows = flagtest.Rows(
	flagtest.Each("N17 the checks of a new cohort", "bob", "preview",
		[2]string{`{}`, `400 required filters This field is required.`},
		[2]string{`{"filters":null}`, `400 null filters This field may not be null.`},
		[2]string{`{"filters":[]}`, `400 not_a_dict filters Expected a dictionary of items but got type "list".`},
		[2]string{`{"filters":{}}`, `400 invalid_input filters__detail Must contain a 'properties' key with type and values`},
		[2]string{tree("NOT", flagtest.Plan), `400 invalid_input filters`},
		[2]string{tree("AND", `{"type":"person","key":"plan"}`), `400 invalid_input filters Missing required keys for person filter: value, operator`},
		[2]string{tree("AND", `{"type":"cohort","key":"id","value":99}`), `400 invalid_input filters Invalid Cohort ID in filter`},
		[2]string{tree("AND", ofPlan("regex", `"("`)), `400 invalid_input filters filters.properties.values[0].value:`},
		[2]string{tree("AND", deep(70)), `400 invalid_input filters`},
		[2]string{`[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
	),
	flagtest.Each("N25 lines", "bob", "match",
		[2]string{`{}`, `400 required lines This field is required.`},
		[2]string{`{"lines":"una"}`, `400 not_a_list lines Expected a list of items but got type "str".`},
		[2]string{`{"lines":[{}]}`, `400 invalid_input lines__0 Not a valid string.`},
		[2]string{`{"lines":` + flagtest.List(1001, `""`) + `}`, `400 max_length lines Ensure this field has no more than 1000 elements.`},
		[2]string{`{"lines":` + flagtest.List(1000, `""`) + `}`, `{"persons":[],"unknown":[]}`},
	),
)

var matchRows = flagtest.Rows(
	flagtest.Each("N25 distinct ids, uuids and addresses, in the order of the lines", "bob", "match",
		[2]string{`{"lines":["wes","` + flagtest.Una + `","vic@example.com"]}`, `{"persons":["` + flagtest.Wes + `","` + flagtest.Una + `","` + flagtest.Vic + `"],"unknown":[]}`},
		[2]string{`{"lines":["zoe","xia","0191f0a2-5b1c-7d3e-8f40-0000000000ff","zoe@example.com"]}`, `{"persons":["` + flagtest.Xia + `"],"unknown":["zoe","0191f0a2-5b1c-7d3e-8f40-0000000000ff","zoe@example.com"]}`},
		[2]string{`{"lines":[]}`, `{"persons":[],"unknown":[]}`},
	),
	flagtest.Each("N25 blanks, empty lines and repeated lines", "bob", "match",
		[2]string{`{"lines":[" una ","","\tvic\r"," "]}`, `{"persons":["` + flagtest.Una + `","` + flagtest.Vic + `"],"unknown":[]}`},
		[2]string{`{"lines":["zoe","zoe "," zoe"]}`, `{"persons":[],"unknown":["zoe"]}`},
		[2]string{`{"lines":["vic","una","vic2","` + flagtest.Vic + `","vic@example.com"]}`, `{"persons":["` + flagtest.Vic + `","` + flagtest.Una + `"],"unknown":[]}`},
	),
	[]ruletest.Row{{"§1.5 persons of another project", "dan", "match", `{"lines":["una","` + flagtest.Una + `","una@example.com"]}`, `{"persons":[],"unknown":["una","` + flagtest.Una + `","una@example.com"]}`}},
)

// una and vic have the plan pro. The cohorts are listed newest first.
var cohortsOfPersonRows = []ruletest.Row{
	{"§5.3 by rule", "bob", "cohort", `{"name":"pros","filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}}}`, `{"id":1,"count":2}`},
	{"§5.3 by list", "bob", `file {"name":"listed","is_static":true}`, "vic2\nxia\n", `{"id":2,"count":2}`},
	{"§5.3 by another cohort", "bob", "cohort", tree("AND", `{"type":"cohort","key":"id","value":1,"negation":true}`), `{"id":3,"count":2}`},
	{"§5.3 by events", "bob", "cohort", tree("AND", flagtest.Performed), `{"id":4,"count":0}`},
	{"§5.3 of another project", "dan", "cohort", tree("AND"), `{"id":5}`},
	{"§5.3 by rule", "bob", "cohortsof " + flagtest.Una, ``, `[{"id":1,"name":"pros","count":2,"created_by":{"first_name":"bob"},"is_static":false}]`},
	{"§5.3 by any distinct id", "bob", "cohortsof " + flagtest.Vic, ``, `[{"id":2,"name":"listed","count":2,"is_static":true},{"id":1}]`},
	{"§5.3 by another cohort", "bob", "cohortsof " + flagtest.Wes, ``, `[{"id":3}]`},
	{"§5.3 by list and another cohort", "bob", "cohortsof " + flagtest.Xia, ``, `[{"id":3},{"id":2}]`},
	{"§5.3 in the project of the caller", "dan", "cohortsof " + flagtest.Una, ``, `[{"id":5}]`},
	{"§5.3 a person without distinct ids", "bob", "cohortsof -", ``, `[{"id":3}]`},
	{"clients.md §11.3 a hidden cohort is left out, but decides about others", "ann", "rule cohort 1", `{"access_level":"none"}`, `{"access_level":"none"}`},
	{"clients.md §11.3 a hidden cohort is left out, but decides about others", "cyd", "cohortsof " + flagtest.Una, ``, `[]`},
	{"clients.md §11.3 a hidden cohort is left out, but decides about others", "cyd", "cohortsof " + flagtest.Wes, ``, `[{"id":3,"user_access_level":"editor"}]`},
	{"clients.md §11.2 its author sees it", "bob", "cohortsof " + flagtest.Una, ``, `[{"id":1,"user_access_level":"manager"}]`},
	{"§5.2 deleted cohorts, and flags.md §5.3 those that need them", "bob", "changecohort 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.2 deleted cohorts, and flags.md §5.3 those that need them", "bob", "cohortsof " + flagtest.Vic, ``, `[{"id":2}]`},
	{"§5.2 deleted cohorts, and flags.md §5.3 those that need them", "bob", "cohortsof " + flagtest.Wes, ``, `[]`},
}

// Every second person has the plan pro. A preview evaluates the newest 100,000 persons and
// extrapolates to all: 50,000 of 100,000 make 50,000.5 of 100,001, rounded up. It stops after five
// seconds, which it notices at every 1,024th person: then 1,024 of 2,048 make 1,500 of 3,000.
func TestCohorts_PreviewOfMany(t *testing.T) {
	for _, c := range []struct {
		name  string
		n     int
		pause time.Duration // before person 1,024
		want  string
	}{
		{"as many persons as are evaluated", 100_000, 0, `{"Count":50000,"Exact":true}`},
		{"one more", 100_001, 0, `{"Count":50001,"Exact":false}`},
		{"within the time", 3000, 4999 * time.Millisecond, `{"Count":1500,"Exact":true}`},
		{"at the end of the time", 3000, 5 * time.Second, `{"Count":1500,"Exact":false}`},
		{"after the last check", 2047, time.Minute, `{"Count":1024,"Exact":true}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := worldOf(t, &generatedPeople{flagtest.SomePeople(), c.n, func(i int) management.Person {
				if i == 1024 {
					time.Sleep(c.pause)
				}
				return management.Person{UUID: flagtest.Una, Properties: map[string]any{"plan": []string{"pro", "free"}[i%2]}}
			}})
			w.Run(t, flagtest.RoomCalls(t, w), []ruletest.Row{{"N17 " + c.name, "bob", "preview", tree("AND", flagtest.Plan), c.want}})
		})
	}
}

// A count stops after the newest 100,000 persons, and its entry in the list of calculations says so.
func TestCohorts_CountOfMany(t *testing.T) {
	for n, exact := range map[int]string{100_000: "true", 100_001: "false"} {
		w := worldOf(t, &generatedPeople{flagtest.SomePeople(), n, func(int) management.Person {
			return management.Person{UUID: flagtest.Una, Properties: map[string]any{"plan": "pro"}}
		}})
		w.Run(t, flagtest.RoomCalls(t, w), []ruletest.Row{
			{"§5.2", "bob", "cohort", tree("AND", flagtest.Plan), `{"id":1,"count":100000}`},
			{"§5.2 calculation_history", "bob", "counts 1", ``, `{"results":[{"count":100000,"exact":` + exact + `,"error":null}]}`},
		})
	}
}

// A preview names at most 20 persons, the newest.
func TestCohorts_PreviewNames(t *testing.T) {
	for n, want := range map[int]string{20: "19", 21: "19"} {
		w := worldOf(t, &generatedPeople{flagtest.SomePeople(), n, func(i int) management.Person { return management.Person{UUID: fmt.Sprintf("%02d", i)} }})
		found, err := w.Cohorts.Preview(t.Context(), w.Scope(t, "bob"), ruletest.Body(t, tree("AND")))
		if err != nil {
			t.Fatal(err)
		}
		if found.Count != n || !found.Exact || len(found.UUIDs) != 20 || found.UUIDs[0] != "00" || found.UUIDs[19] != want {
			t.Errorf("of %d persons: %+v", n, found)
		}
	}
}

// Addresses are searched among the newest 100,000 persons, for at most five seconds; two persons
// may have the same address.
func TestCohorts_MatchAddresses(t *testing.T) {
	const lines, last = `{"lines":["a@example.com","b@example.com"]}`, 99_999
	for _, c := range []struct {
		name  string
		at    int           // index of the person with the address b
		pause time.Duration // before person 1,024
		want  string
	}{
		{"the last person that is searched", last, 0, `{"persons":["0","1","99999"],"unknown":[]}`},
		{"the first that is not", last + 1, 0, `{"persons":["0","1"],"unknown":["b@example.com"]}`},
		{"within the time", last, 4999 * time.Millisecond, `{"persons":["0","1","99999"],"unknown":[]}`},
		{"before the check of the time", 2047, time.Minute, `{"persons":["0","1","2047"],"unknown":[]}`},
		{"after the check of the time", 2048, time.Minute, `{"persons":["0","1"],"unknown":["b@example.com"]}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := worldOf(t, &generatedPeople{flagtest.SomePeople(), last + 2, func(i int) management.Person {
				p := management.Person{UUID: fmt.Sprint(i)}
				switch i {
				case 0, 1:
					p.Properties = map[string]any{"email": "a@example.com"}
				case c.at:
					p.Properties = map[string]any{"email": "b@example.com"}
				case 1024:
					time.Sleep(c.pause)
				}
				return p
			}})
			w.Run(t, flagtest.RoomCalls(t, w), []ruletest.Row{{"N25 " + c.name, "bob", "match", lines, c.want}})
		})
	}
}

// Dates without a zone are in the time zone of the project (flags.md §4.7), and person_metadata is
// the time of the person's creation (flags.md §1.4), wherever a cohort is evaluated. 10:30 UTC is
// before 11:15, but not before 11:15 in Berlin, which is 10:15 UTC.
func TestCohorts_EvaluatedInTheZoneOfTheProject(t *testing.T) {
	person := management.Person{UUID: flagtest.Una, DistinctIDs: []string{"una"}, Properties: map[string]any{"joined": "2026-01-02T10:30:00Z", "logins": json.Number("3")}, CreatedAt: ruletest.Start.AddDate(0, 0, -1)}
	const joined, created = `{"type":"person","key":"joined","operator":"is_date_before","value":"2026-01-02 11:15:00"}`, `{"type":"person_metadata","key":"created_at","operator":"is_date_after","value":"2026-01-01"}`
	for zone, want := range map[string]int{"UTC": 1, "Europe/Berlin": 0} {
		w := worldOf(t, &generatedPeople{flagtest.SomePeople(), 1, func(int) management.Person { return person }})
		w.InZone(t, zone)
		w.Run(t, flagtest.RoomCalls(t, w), []ruletest.Row{
			{"§5.2 the count", "bob", "cohort", tree("AND", joined, created), fmt.Sprintf(`{"id":1,"count":%d}`, want)},
			{"N17 the preview", "bob", "preview", tree("AND", joined, created), fmt.Sprintf(`{"Count":%d}`, want)},
			{"§5.2 the copy", "bob", "duplicate 1", ``, fmt.Sprintf(`{"id":2,"count":%d}`, want)},
		})
		list, err := w.Cohorts.ListForPerson(t.Context(), w.Scope(t, "bob"), &person)
		if err != nil || len(list) != 2*want {
			t.Errorf("%s: the cohorts of the person are %d, %v, want %d", zone, len(list), err, 2*want)
		}
		member, err := w.Cohorts.Membership(t.Context(), w.Scope(t, "bob"), "1")
		if err != nil || member(&person) != (want == 1) {
			t.Errorf("%s: membership, %v", zone, err)
		}
	}
}
