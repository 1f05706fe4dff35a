package remote_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
)

var pairs = flag.Int("pairs", 100_000, "how many random pairs of definitions and user TestRemote_AnswersAsTheServer compares")

// perProject is how many users are asked about in one set of definitions.
const perProject = 250

// parityTime is the clock of both sides.
var parityTime = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// TestRemote_AnswersAsTheServer: random definitions and users. Whatever the client
// says it has decided is what POST /flags?v=2 answers: value, variant, reason and
// payload; where it says that the reason is open, all but the reason. The server is the oracle; it knows stored properties, group properties
// and members of static cohorts that the client does not. Half of the projects need
// nothing stored: there nothing may be left undecided.
func TestRemote_AnswersAsTheServer(t *testing.T) {
	projects := max(1, *pairs/perProject)
	seeds := make(chan uint64)
	var mu sync.Mutex
	var sum tally
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed := range seeds {
				one := compareProject(t, seed)
				mu.Lock()
				sum.add(&one)
				mu.Unlock()
			}
		})
	}
	for seed := range projects {
		if t.Failed() {
			break
		}
		seeds <- uint64(seed)
	}
	close(seeds)
	workers.Wait()
	t.Logf("%d pairs of definitions and user, %d answers decided here and equal (of %d the reason is open), %d not decided (%.1f %%), %d not known here",
		sum.users, sum.decided, sum.open, sum.undecided, 100*float64(sum.undecided)/float64(sum.decided+sum.undecided), sum.unknown)
	for _, why := range slices.SortedFunc(maps.Keys(sum.why), func(a, b string) int { return sum.why[b] - sum.why[a] }) {
		t.Logf("not decided, %s: %.2f %%", why, 100*float64(sum.why[why])/float64(sum.decided+sum.undecided))
	}
	if sum.decided < sum.users || sum.undecided == 0 {
		t.Error("the random definitions do not exercise both kinds of answers")
	}
}

// tally counts answers.
type tally struct {
	users, decided, open, undecided, unknown int
	why                                      map[string]int
}

func (a *tally) add(b *tally) {
	a.users, a.decided, a.open, a.undecided, a.unknown = a.users+b.users, a.decided+b.decided, a.open+b.open, a.undecided+b.undecided, a.unknown+b.unknown
	if a.why == nil {
		a.why = map[string]int{}
	}
	for why, n := range b.why {
		a.why[why] += n
	}
}

// serverAnswer is what POST /flags?v=2 says of a flag.
type serverAnswer struct {
	Enabled bool    `json:"enabled"`
	Variant *string `json:"variant"`
	Failed  bool    `json:"failed"`
	Reason  struct {
		Code      string `json:"code"`
		Condition *int   `json:"condition_index"`
	} `json:"reason"`
	Metadata struct {
		Payload json.RawMessage `json:"payload"`
	} `json:"metadata"`
}

func compareProject(t *testing.T, seed uint64) (sum tally) {
	g := parityGenerator{Rand: rand.New(rand.NewPCG(seed, 5)), stored: seed%2 == 0}
	text, people := g.project()
	d, err := flags.ParseDefinitions(text)
	if err != nil {
		t.Errorf("project %d: %v", seed, err)
		return sum
	}
	clock := func() time.Time { return parityTime }
	decider, err := flags.NewDecider(flags.DeciderConfig{
		Source: flags.Static("phc_x", flags.Project{ID: 1}, d), People: people, Continuity: people, Members: people, Now: clock,
	})
	if err != nil {
		t.Error(err)
		return sum
	}
	handler, err := httpapi.New(httpapi.Config{Decider: decider, Keys: oneKey{}})
	if err != nil {
		t.Error(err)
		return sum
	}
	c, err := remote.New(remote.Config{
		URL: "http://server", ProjectKey: "phc_x", Key: "phs_x", NoCopy: true, NoStream: true, Now: clock,
		HTTPClient: &http.Client{Transport: direct{handler}},
	})
	if err != nil {
		t.Error(err)
		return sum
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	defer func() {
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	if err := c.WaitForReady(ctx); err != nil {
		t.Errorf("project %d: %v", seed, err)
		return sum
	}
	sum.why = map[string]int{}
	var here flags.Decisions
	for range perProject {
		sub := g.subject()
		there := askServer(t, handler, &sub)
		if err := c.DecideAll(ctx, &sub, &here); err != nil {
			t.Errorf("project %d: %v", seed, err)
			return sum
		}
		sum.users++
		for i := range here.List {
			d := &here.List[i]
			if d.Undecided != nil {
				sum.undecided++
				sum.why[d.Undecided.Fact]++
				if !g.stored {
					t.Errorf("project %d: %s is not decided for %+v, and nothing is stored: %v\n%s", seed, d.Key, sub, d.Undecided, text)
				}
				continue
			}
			want, ok := there[d.Key]
			if !ok {
				t.Errorf("project %d: %s is decided for %+v, the server does not answer it\n%s", seed, d.Key, sub, text)
				continue
			}
			sum.decided++
			if d.ReasonOpen != nil {
				sum.open++
				if !g.stored {
					t.Errorf("project %d: the reason of %s is open for %+v, and nothing is stored: %v\n%s", seed, d.Key, sub, d.ReasonOpen, text)
				}
			}
			if problem := differs(d, &want); problem != "" {
				t.Errorf("project %d: %s for %+v: %s\n%s", seed, d.Key, sub, problem, text)
			}
		}
		sum.unknown += max(0, len(there)-len(here.List))
		if t.Failed() {
			return sum
		}
	}
	return sum
}

func differs(here *flags.Decision, there *serverAnswer) string {
	variant, condition := "", flags.NoCondition
	if there.Variant != nil {
		variant = *there.Variant
	}
	if there.Reason.Condition != nil {
		condition = *there.Reason.Condition
	}
	var a, b any
	payload := there.Metadata.Payload
	if len(here.Payload) > 0 && json.Unmarshal(here.Payload, &a) != nil || len(payload) > 0 && json.Unmarshal(payload, &b) != nil {
		return "a payload is no JSON"
	}
	switch {
	case here.Enabled != there.Enabled || here.Variant != variant || here.Failed() != there.Failed:
		return fmt.Sprintf("%v %q here, %v %q there", here.Enabled, here.Variant, there.Enabled, variant)
	case here.ReasonOpen == nil && (here.Reason.Code.String() != there.Reason.Code || here.Reason.Condition != condition):
		return fmt.Sprintf("%v here, %+v there", here.Reason, there.Reason)
	case !reflect.DeepEqual(a, b):
		return fmt.Sprintf("payload %s here, %s there", here.Payload, payload)
	}
	return ""
}

func askServer(t *testing.T, h http.Handler, sub *flags.Subject) map[string]serverAnswer {
	body, err := json.Marshal(map[string]any{
		"api_key": "phc_x", "distinct_id": sub.DistinctID, "$device_id": sub.DeviceID, "$anon_distinct_id": sub.AnonymousID, "groups": sub.Groups,
		"person_properties": sub.Person, "group_properties": sub.GroupProperties, "geoip_disable": true, "evaluation_runtime": "all",
	})
	if err != nil {
		t.Error(err)
		return nil
	}
	r := httptest.NewRequest(http.MethodPost, "/flags?v=2", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var answer struct {
		Flags map[string]serverAnswer `json:"flags"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		t.Errorf("status %d, %v: %s", w.Code, err, w.Body)
	}
	return answer.Flags
}

// direct carries requests to a handler without a network.
type direct struct{ handler http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, in)
	return w.Result(), nil
}

type oneKey struct{}

func (oneKey) Key(_ context.Context, key string) (httpapi.Key, error) {
	if key != "phs_x" {
		return httpapi.Key{}, httpapi.ErrUnknownKey
	}
	return httpapi.Key{Secret: true, Projects: []string{"phc_x"}}, nil
}

// parityGenerator makes projects and users. Without stored, no answer depends on
// anything that a server would keep.
type parityGenerator struct {
	*rand.Rand
	stored bool
}

func (g parityGenerator) one(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g parityGenerator, list ...T) T { return list[g.IntN(len(list))] }

type object = map[string]any

var (
	parityKeys   = []string{"plan", "age", "$browser", "$initial_browser", "version", "joined", "distinct_id", "email"}
	parityValues = []any{"pro", "Free", "true", true, 1, 2.5, 30, "30", nil, "1.2.0", "2026-01-01", "2026-11-19T08:00:00Z", []any{"pro", 1}, "ana@example.com", object{"a": 1}}
	parityWanted = []any{"pro", "free", "true", true, 1, 2.5, "30", []any{"pro", "Free"}, []any{"true", 30}, "1.2.0", ">=1.0.0", "2026-01-01", "-7d", "^p.o", "@example.com"}
	parityOps    = []string{
		"exact", "is_not", "icontains", "not_icontains", "is_set", "is_not_set", "gt", "gte", "lt", "lte", "regex", "not_regex",
		"is_date_before", "is_date_after", "is_date_exact", "semver_eq", "semver_gt", "semver_neq", "semver_caret", "starts_with", "ends_with", "in", "not_in",
	}
	parityIDs = []string{"u0", "u1", "u2", "u3", "u4", "someone", "ÄÖÜ", "", strings.Repeat("x", 250)}
)

// project is a definitions file's text and what the server has stored.
func (g parityGenerator) project() ([]byte, *flags.Memory) {
	people := &flags.Memory{}
	p := object{"group_type_mapping": object{"0": "company", "1": "team"}}
	if g.one(20) {
		p["bucketing_hash"] = "murmur3"
	}
	if g.one(20) {
		p["property_matching_version"] = 2
	}
	p["timezone"] = pick(g, "UTC", "Europe/Vienna", "America/New_York")
	cohorts := object{
		"1": g.node(2), "2": g.node(1), "3": object{"is_static": true}, "4": object{"type": "AND", "values": []any{}},
		"5": object{"type": "OR", "values": []any{object{"key": "seen", "type": "behavioral", "value": "performed_event"}}},
	}
	list := []any{}
	for i := range 1 + g.IntN(8) {
		list = append(list, g.flag(i+1))
	}
	p["flags"], p["cohorts"] = list, cohorts
	for i, id := range parityIDs[:5] {
		member := []int64{}
		if i%2 == 0 {
			member = append(member, 3)
		}
		var properties flags.Properties
		if g.stored {
			properties = g.properties(parityKeys, 40)
		}
		people.AddPerson(1, parityTime.Add(-time.Hour), properties, member, id, id+"-other")
	}
	if g.stored {
		people.AddGroup(1, "company", "acme", g.properties(parityKeys, 40))
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // a mistake of the generator
	}
	return text, people
}

func (g parityGenerator) flag(id int) object {
	filters := object{"early_exit": g.one(20)}
	f := object{
		"id": id, "key": fmt.Sprintf("f%d", id), "version": g.IntN(5), "active": !g.one(8), "filters": filters,
		"has_experiment": g.one(20), "evaluation_runtime": pick(g, "all", "all", "server", "client"),
	}
	switch {
	case g.one(15):
		f["bucketing_identifier"] = "device_id"
	case g.one(5):
		f["bucketing_hash"] = "murmur3"
	}
	if g.stored && g.one(10) {
		f["ensure_experience_continuity"] = true
	}
	if g.stored && g.one(3) {
		f["has_encrypted_payloads"] = true
	}
	if g.one(15) {
		filters["aggregation_group_type_index"] = g.IntN(3)
	}
	if g.one(10) {
		filters["holdout"] = object{"id": 7, "exclusion_percentage": pick(g, 0, 10, 50, 100)}
	}
	if g.stored && g.one(10) {
		filters["feature_enrollment"] = true
	}
	payloads := object{}
	if g.one(40) {
		share := pick(g, 0.0, 50, 100, 33.3)
		filters["multivariate"] = object{"variants": []any{object{"key": "a", "rollout_percentage": share}, object{"key": "b", "rollout_percentage": 100 - share}}}
		payloads["a"] = pick[any](g, `{"x": 1}`, "1", `"text"`, 3, object{"y": []any{1}})
	}
	if g.one(30) {
		payloads["true"] = pick[any](g, `{"on": true}`, "not json", 7, true)
	}
	filters["payloads"] = payloads
	groups := []any{}
	for range g.IntN(4) {
		c := object{}
		if g.one(60) {
			c["rollout_percentage"] = pick(g, 0.0, 10, 33.33, 50, 90, 100)
		}
		if g.one(20) {
			c["variant"] = pick(g, "a", "b", "none")
		}
		if g.one(10) {
			c["aggregation_group_type_index"] = pick[any](g, nil, 0, 1)
		}
		properties := []any{}
		for range g.IntN(3) {
			properties = append(properties, g.property(id))
		}
		c["properties"] = properties
		groups = append(groups, c)
	}
	filters["groups"] = groups
	return f
}

// property is a requirement of flag number id, or with 0 a leaf of a cohort.
func (g parityGenerator) property(id int) object {
	n := g.IntN(100)
	switch {
	case id > 1 && n < 20: // on one before it: no cycles
		return object{"key": fmt.Sprint(1 + g.IntN(id-1)), "type": "flag", "operator": "flag_evaluates_to", "value": pick[any](g, true, false, "a", "b")}
	case id > 0 && n < 35:
		cohort := pick(g, 3, 4)
		if g.stored {
			cohort = 1 + g.IntN(6)
		}
		return object{"key": "id", "type": "cohort", "operator": pick(g, "in", "not_in"), "value": cohort}
	case !g.stored || n < 40:
		return object{"key": "distinct_id", "type": "person", "operator": pick(g, "exact", "is_not", "regex", "starts_with"), "value": pick[any](g, "u1", "^u", []any{"u0", "someone"})}
	case id > 0 && n < 50:
		return object{"key": pick(g, "plan", "$group_key"), "type": "group", "group_type_index": g.IntN(2), "operator": pick(g, parityOps...), "value": pick(g, parityWanted...)}
	}
	p := object{"key": pick(g, parityKeys...), "type": "person", "operator": pick(g, parityOps...), "value": pick(g, parityWanted...)}
	if g.one(15) {
		p["negation"] = true
	}
	return p
}

func (g parityGenerator) node(depth int) object {
	values := []any{}
	for range g.IntN(3) {
		switch {
		case depth > 0 && g.one(30):
			values = append(values, g.node(depth-1))
		case depth > 0 && g.one(25):
			values = append(values, object{"key": "id", "type": "cohort", "operator": pick(g, "in", "not_in"), "value": 2 + g.IntN(4), "negation": g.one(20)})
		default:
			values = append(values, g.property(0))
		}
	}
	return object{"type": pick(g, "AND", "OR"), "values": values}
}

func (g parityGenerator) properties(keys []string, percent int) flags.Properties {
	out := flags.Properties{}
	for _, key := range keys {
		if g.one(percent) && key != "distinct_id" {
			out[key] = pick(g, parityValues...)
		}
	}
	return out
}

func (g parityGenerator) subject() flags.Subject {
	sub := flags.Subject{DistinctID: pick(g, parityIDs...), Person: g.properties(parityKeys, 50)}
	if g.one(20) {
		sub.DistinctID = fmt.Sprintf("u%d-other", g.IntN(5))
	}
	if g.one(30) {
		sub.DeviceID = pick(g, "d1", "d2")
	}
	if g.stored && g.one(20) {
		sub.AnonymousID = "u4"
	}
	if g.one(50) {
		sub.Groups = map[string]string{"company": pick(g, "acme", "other", "")}
		if g.one(50) {
			sub.Groups["team"] = "t"
		}
	}
	if g.one(40) {
		sub.GroupProperties = map[string]flags.Properties{"company": g.properties([]string{"plan"}, 70), "team": g.properties([]string{"plan"}, 70)}
	}
	return sub
}
