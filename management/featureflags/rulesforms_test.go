package featureflags_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// Older forms, and the forms of definitions files, are accepted in documents and bodies.
func TestForms(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{
		"flags of files": fileFlagFormRows, "cohorts of files": fileCohortRows, "nothing there": notFoundRows, "dependencies by state": enableRows,
	})
}

// inDocument returns a document of flag a with one property.
func inDocument(property string) string {
	return flagtest.Document(`{"key":"a","active":true,"filters":{"groups":[{"properties":[`+property+`]}]}}`, ``)
}

// fileFlagFormRows prove that the short forms of definitions files are exported in full, so that
// two documents with the same meaning are equal.
var fileFlagFormRows = []ruletest.Row{
	{"flags.md §1.4 a type that is not named is person", "bob", "apply", inDocument(`{"key":"plan","value":"pro"}`), `{"changes":[{"action":"create"}]}`},
	{"flags.md §1.4 a type that is not named is person", "bob", "get 1", ``, `{"filters":{"groups":[{"properties":[{"key":"plan","type":"person","value":"pro"}]}]}}`},
	{"flags.md §1.4 the same, written out", "bob", "apply", inDocument(`{"key":"plan","type":"person","value":"pro"}`), `{"changes":[],"unchanged":1}`},
	{"flags.md §4.2 a number where texts are compared", "bob", "apply", inDocument(`{"key":"age","type":"person","operator":"gt","value":30}`), `{"changes":[{"action":"update"}]}`},
	{"flags.md §4.2 a number where texts are compared", "bob", "get 1", ``, `{"filters":{"groups":[{"properties":[{"operator":"gt","value":"30"}]}]}}`},
	{"flags.md §4.2 the same, written out", "bob", "apply", inDocument(`{"key":"age","type":"person","operator":"gt","value":"30"}`), `{"changes":[],"unchanged":1}`},
	{"flags.md §4.2 a truth where texts are compared", "bob", "apply", inDocument(`{"key":"ok","type":"person","operator":"icontains","value":true}`), `{"changes":[{"action":"update"}]}`},
	{"flags.md §4.2 a truth where texts are compared", "bob", "get 1", ``, `{"filters":{"groups":[{"properties":[{"operator":"icontains","value":"true"}]}]}}`},
	{"flags.md §4.5 one value where several are looked for", "bob", "apply", inDocument(`{"key":"x","type":"person","operator":"icontains_multi","value":"a"}`), `{"changes":[{"action":"update"}]}`},
	{"flags.md §4.5 one value where several are looked for", "bob", "get 1", ``, `{"filters":{"groups":[{"properties":[{"operator":"icontains_multi","value":["a"]}]}]}}`},
	{"flags.md §1.4 min and max", "bob", "apply", inDocument(`{"key":"age","type":"person","operator":"min","value":3}`), `{"changes":[{"action":"update"}]}`},
	{"flags.md §1.4 min and max", "bob", "apply", inDocument(`{"key":"age","type":"person","operator":"gte","value":"3"}`), `{"changes":[],"unchanged":1}`},
	{"flags.md §1.2 no groups are none", "bob", "apply", flagtest.Document(`{"key":"a","active":true,"filters":{}}`, ``), `{"changes":[{"action":"update"}]}`},
	{"flags.md §1.2 no groups are none", "bob", "get 1", ``, `{"filters":{"groups":[]}}`},
	{"flags.md §1.3 about groups the type is group", "bob", "apply", flagtest.Document(`{"key":"a","active":true,"filters":{"aggregation_group_type_index":0,"groups":[{"properties":[{"key":"size","operator":"gt","value":5}]}]}}`, ``), `{"changes":[{"action":"update"}]}`},
	{"flags.md §1.3 about groups the type is group", "bob", "get 1", ``, `{"filters":{"groups":[{"properties":[{"type":"group","value":"5"}]}]}}`},
	{"flags.md §1.1 evaluation_tags is the older name", "bob", "apply", flagtest.Document(`{"key":"b","filters":{"groups":[]},"evaluation_tags":["web"],"tags":["B","a"]}`, ``), `{"changes":[{"name":"b"}]}`},
	{"flags.md §1.1 evaluation_tags is the older name", "bob", "get 2", ``, `{"evaluation_contexts":["web"],"evaluation_tags":["web"],"tags":["a","b"]}`},
	{"flags.md §1.5 a key of 401 characters", "bob", "apply", flagtest.Document(`{"key":`+flagtest.Text(401)+`,"filters":{"groups":[]}}`, ``), `400 max_length key`},
	{"§5.1.2 payloads that are no texts", "bob", "apply", flagtest.Document(`{"key":"c","filters":{"groups":[],"payloads":{"true":{"a":1}}}}`, ``), `{"changes":[{"name":"c"}]}`},
	{"§5.1.2 payloads that are no texts", "bob", "get 3", ``, `{"filters":{"payloads":{"true":"{\"a\":1}"}}}`},
}

// ofDocument returns a document of cohort C with members in addition to its name.
func ofDocument(members string) string { return flagtest.Document(``, `{"name":"C",`+members+`}`) }

var fileCohortRows = []ruletest.Row{
	{"flags.md §5.6 a tree in the oldest form", "bob", "apply", ofDocument(`"groups":[{"properties":{"type":"OR","values":[` + flagtest.Plan + `]}}]`), `{"changes":[{"action":"create"}]}`},
	{"flags.md §5.6 a tree in the oldest form", "bob", "getcohort 1", ``, `{"filters":{"properties":{"type":"OR","values":[{"type":"OR","values":[` + flagtest.Plan + `]}]}}}`},
	{"flags.md §5.6 half a tree matches nobody", "bob", "apply", ofDocument(`"groups":[{"properties":{"type":"OR"}},{"properties":{"plan":"pro"}}]`), `{"changes":[{"action":"update"}]}`},
	{"flags.md §5.6 half a tree matches nobody", "bob", "getcohort 1", ``, `{"filters":{"properties":{"type":"OR","values":[{"type":"AND","values":[{"key":"plan"}]}]}}}`},
	{"flags.md §4.1 cohorts are about persons", "bob", "apply", ofDocument(`"filters":{"properties":{"type":"AND","values":[{"type":"group","group_type_index":0,"key":"plan","value":"pro"}]}}`), `{"changes":[{"action":"update"}]}`},
	{"flags.md §4.1 cohorts are about persons", "bob", "getcohort 1", ``, `{"filters":{"properties":{"values":[{"type":"person","key":"plan","operator":"exact","value":"pro","group_type_index":"(absent)"}]}}}`},
	{"flags.md §5.5 what nobody can evaluate is behavioral", "bob", "apply", ofDocument(`"filters":{"properties":{"type":"AND","values":[{"type":"event","key":"paid"}]}}`), `{"changes":[{"action":"update"}]}`},
	{"flags.md §5.5 what nobody can evaluate is behavioral", "bob", "getcohort 1", ``, `{"cohort_type":"behavioral","filters":{"properties":{"values":[{"type":"behavioral","key":"paid","value":"performed_event","event_type":"events"}]}}}`},
	{"flags.md §1.6 static by its type", "bob", "apply", flagtest.Document(``, `{"name":"S","cohort_type":"static","members":["una"]}`), `{"changes":[{"action":"create"}]}`},
	{"flags.md §1.6 static by its type", "bob", "getcohort 2", ``, `{"is_static":true,"cohort_type":"static","count":1}`},
	{"flags.md §5.1 an operator that matches nobody", "bob", "apply", ofDocument(`"filters":{"properties":{"type":"AND","values":[{"type":"cohort","key":"name","value":"S","operator":"exact"}]}}`), `400 invalid_input filters cohort "C":`},
	{"§5.2 a tree that is none", "bob", "apply", ofDocument(`"filters":{"properties":{"type":"AND","values":["x"]}}`), `400 invalid_input filters cohort "C":`},
}

// notFoundRows prove that the response for a missing object is 404, whatever the body is.
var notFoundRows = flagtest.Rows(
	eachPath([]string{"changesurvey", "changefeature", "changeexperiment", "putsurvey", "putfeature", "putexperiment"}, "0191f0a2-5b1c-7d3e-8f40-0000000000ff"),
	eachPath([]string{"change", "put", "changecohort", "putcohort", "changeschedule", "putschedule"}, "99"),
)

func eachPath(calls []string, id string) (out []ruletest.Row) {
	for _, call := range calls {
		for _, body := range []string{`{}`, `{"name":[]}`, `{"active":"maybe","is_static":"maybe","stage":7,"record_id":"x"}`} {
			out = append(out, ruletest.Row{"§1.5 not found goes before the body", "bob", call + " " + id, body, `404 not_found - Not found.`})
		}
	}
	return out
}

// enableRows prove that flags that depend on each other are switched on in the order of their
// dependencies.
var enableRows = []ruletest.Row{
	flagtest.AFlag,
	{"flags.md §6", "bob", "create", `{"key":"b","active":false}`, `{"id":2}`},
	{"flags.md §6", "bob", "change 2", flagtest.Needs("1"), `{"id":2}`},
	{"flags.md §6 nothing active needs it", "bob", "change 1", `{"active":false}`, `{"active":false}`},
	{"flags.md §6 switched on together", "bob", "change 1", `{"active":true}`, `{"active":true}`},
	{"flags.md §6 switched on together", "bob", "change 2", `{"active":true}`, `{"active":true}`},
}

// manyPeople returns n persons with the plan pro.
type manyPeople struct {
	*flagtest.People
	n int
}

func (c manyPeople) CountPersons(context.Context, int64) (int, error) { return c.n, nil }

func (c manyPeople) Persons(_ context.Context, _ int64, visit func(*management.Person) bool) error {
	p := management.Person{UUID: flagtest.Una, DistinctIDs: []string{"una"}, Properties: map[string]any{"plan": "pro"}}
	for range c.n {
		if !visit(&p) {
			break
		}
	}
	return nil
}

// Decision 27: a plan counts exactly up to 100,000 persons; if there are more, it counts a random
// sample and reports that. A preview reports too whether it is exact.
func TestPlan_Sample(t *testing.T) {
	for n, want := range map[int]string{
		100_000: `"changed":100000,"counted":100000,"of":100000,"sample":false`,
		100_001: `"changed":100000,"counted":100000,"of":100001,"sample":true`,
	} {
		w := ruletest.New(t, memstore.New(memstore.ExternalData{}), func(c *rooms.Config) { c.People = manyPeople{flagtest.SomePeople(), n} })
		w.Run(t, flagtest.RoomCalls(t, w), []ruletest.Row{
			{"decision 27", "bob", "plan", flagtest.Document(simple, ``), `{"changes":[{"people":{` + want + `}}]}`},
			{"§5.1.3", "bob", "radius", `{"condition":{"properties":[` + flagtest.Plan + `]}}`, fmt.Sprintf(`{"users_affected":%d,"total_users":%d,"exact":%v}`, n, n, n == 100_000)},
		})
	}
}
