package serving_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// fakeSource is a Source of one project that can change and fail, with a clock.
type fakeSource struct {
	mu          sync.Mutex
	now         time.Time
	project     flags.Project
	definitions flags.Definitions
	failure     error // error of both methods
	defsFailure error // error of Definitions only
	lookups     int
	downloads   int
}

func newFakeSource(t testing.TB, definitions string) *fakeSource {
	t.Helper()
	return &fakeSource{
		now:         time.Date(2026, 7, 15, 12, 0, 0, 0, time.UTC),
		project:     flags.Project{ID: 1, APIKey: "phc_shop", OrganizationID: "o1"},
		definitions: parse(t, definitions),
	}
}

func (s *fakeSource) ProjectByKey(_ context.Context, apiKey string) (flags.Project, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookups++
	if s.failure != nil {
		return flags.Project{}, s.failure
	}
	if apiKey != s.project.APIKey {
		return flags.Project{}, fmt.Errorf("%w: not here", flags.ErrUnknownKey)
	}
	return s.project, nil
}

func (s *fakeSource) Definitions(context.Context, flags.Project) (flags.Definitions, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.downloads++
	return s.definitions, errors.Join(s.failure, s.defsFailure)
}

func (s *fakeSource) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *fakeSource) advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func (s *fakeSource) decider(t testing.TB, change func(*serving.Config)) *serving.Decider {
	t.Helper()
	c := serving.Config{Source: s, Now: s.Now}
	if change != nil {
		change(&c)
	}
	d, err := serving.NewDecider(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// decideAll returns the results in short form by flag key: "on", "off", a variant, or the
// reason code of a failed flag.
func decideAll(t testing.TB, d *serving.Decider, r serving.Request) (map[string]string, *serving.Answer) {
	t.Helper()
	if r.APIKey == "" {
		r.APIKey = "phc_shop"
	}
	if r.Subject.DistinctID == "" {
		r.Subject.DistinctID = "distinct_id_1"
	}
	var answer serving.Answer
	if err := d.Decide(context.Background(), &r, &answer); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for i := range answer.Decisions.List {
		switch f := &answer.Decisions.List[i]; {
		case f.Failed():
			out[f.Key] = f.Reason.Code.String()
		case f.Variant != "":
			out[f.Key] = f.Variant
		case f.Enabled:
			out[f.Key] = "on"
		default:
			out[f.Key] = "off"
		}
	}
	return out, &answer
}

func checkDecisions(t *testing.T, d *serving.Decider, r serving.Request, want map[string]string) *serving.Answer {
	t.Helper()
	got, answer := decideAll(t, d, r)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decisions (-want +got)\n%s", diff)
	}
	return answer
}

const (
	oneFlag   = `{"flags": [{"id": 1, "key": "one", "active": true, "filters": {"groups": [{}]}}]}`
	otherFlag = `{"flags": [{"id": 2, "key": "two", "active": true, "filters": {"groups": [{}]}}]}`
)

var (
	onOne = map[string]string{"one": "on"}
	onTwo = map[string]string{"two": "on"}
)

// fakePeople is a People that counts its calls and may fail.
type fakePeople struct {
	stored  *flags.Stored
	err     error
	queries []serving.Query
}

func (c *fakePeople) Stored(_ context.Context, q serving.Query) (*flags.Stored, error) {
	c.queries = append(c.queries, q)
	return c.stored, c.err
}

const storedFlags = `{"group_type_mapping": {"0": "company"}, "flags": [
	{"id": 1, "key": "anyone", "active": true, "filters": {"groups": [{}]}},
	{"id": 2, "key": "pro", "active": true, "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]}]}},
	{"id": 3, "key": "gold", "active": true, "filters": {"aggregation_group_type_index": 0, "groups": [{"properties": [
		{"key": "tier", "type": "group", "group_type_index": 0, "operator": "exact", "value": "gold"}]}]}}]}`

// If the store of people fails, the flags that need it fail and the request succeeds. Flags
// that only need the request's properties are decided (§9.11).
func TestDecider_9_11_PeopleFail(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		code string
	}{
		"down":    {errors.New("database is down"), "database_error"},
		"timeout": {fmt.Errorf("query: %w", context.DeadlineExceeded), "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			s, people := newFakeSource(t, storedFlags), &fakePeople{err: c.err}
			d := s.decider(t, func(dc *serving.Config) { dc.People = people })
			answer := checkDecisions(t, d, serving.Request{Subject: flags.Subject{Groups: map[string]string{"company": "acme"}}},
				map[string]string{"anyone": "on", "pro": c.code, "gold": c.code})
			if !answer.Decisions.Errors || d.Stats().StoreErrors != 1 {
				t.Errorf("errors %v, %+v", answer.Decisions.Errors, d.Stats())
			}
			answer = checkDecisions(t, d, serving.Request{Subject: flags.Subject{Person: flags.Properties{"plan": "pro"}}},
				map[string]string{"anyone": "on", "pro": "on", "gold": "off"})
			if answer.Decisions.Errors || len(people.queries) != 1 {
				t.Errorf("errors %v, %d queries", answer.Decisions.Errors, len(people.queries))
			}
		})
	}
}

// The store is only called for data that may affect results: the groups of the request, and
// the person if the request lacks one of the properties (§8.1).
func TestDecider_8_1_Lookups(t *testing.T) {
	s, people := newFakeSource(t, storedFlags), &fakePeople{stored: &flags.Stored{
		Person: flags.Properties{"plan": "pro"}, Groups: map[string]flags.Properties{"company": {"tier": "gold"}},
	}}
	d := s.decider(t, func(dc *serving.Config) { dc.People = people })
	long := strings.Repeat("é", 201)
	checkDecisions(t, d, serving.Request{Subject: flags.Subject{DistinctID: long, Groups: map[string]string{"company": "acme", "team": "x"}}},
		map[string]string{"anyone": "on", "pro": "on", "gold": "on"})
	if len(people.queries) != 1 {
		t.Fatal(people.queries)
	}
	q := people.queries[0]
	if diff := cmp.Diff(map[string]string{"company": "acme"}, q.Groups); diff != "" || q.ProjectID != 1 || q.DistinctID != strings.Repeat("é", 200) {
		t.Errorf("asked for %+v", q)
	}
}

// countingLocator is a Locator that counts its calls.
type countingLocator struct{ calls int }

func (p *countingLocator) Locate(netip.Addr) flags.Properties {
	p.calls++
	return flags.Properties{"$geoip_country_code": "DE"}
}

// An address is located only if a flag uses a location (§8.3).
func TestDecider_8_3_Located(t *testing.T) {
	there := `{"flags": [{"id": 1, "key": "de", "active": true, "filters": {"groups": [{"properties": [
		{"key": "$geoip_country_code", "type": "person", "operator": "exact", "value": "DE"}]}]}}]}`
	ip := netip.MustParseAddr("192.0.2.7")
	for name, c := range map[string]struct {
		definitions string
		request     serving.Request
		asked       int
		want        map[string]string
	}{
		"asked for":     {there, serving.Request{IP: ip}, 1, map[string]string{"de": "on"}},
		"not asked for": {oneFlag, serving.Request{IP: ip}, 0, onOne},
		"disabled":      {there, serving.Request{IP: ip, GeoIPDisable: true}, 0, map[string]string{"de": "off"}},
		"no address":    {there, serving.Request{}, 0, map[string]string{"de": "off"}},
	} {
		t.Run(name, func(t *testing.T) {
			located := &countingLocator{}
			d := newFakeSource(t, c.definitions).decider(t, func(dc *serving.Config) { dc.Locator = located })
			if checkDecisions(t, d, c.request, c.want); located.calls != c.asked {
				t.Errorf("located %d times", located.calls)
			}
		})
	}
}

// continuityFlag returns definitions with one flag with a rollout of 50 %. By the vectors of
// §2.6 distinct_id_1 is in it (0.33970…) and distinct_id_0 is not (0.78369…).
func continuityFlag(continuity bool) string {
	return fmt.Sprintf(`{"flags": [{"id": 1, "key": "simple-flag", "active": true, "ensure_experience_continuity": %v,
		"filters": {"groups": [{"rollout_percentage": 50}]}}]}`, continuity)
}

const user, anonymous = "distinct_id_1", "distinct_id_0"

func step(distinctID, anonymousID string) serving.Request {
	return serving.Request{Subject: flags.Subject{DistinctID: distinctID, AnonymousID: anonymousID}}
}

// Rows 109 to 111 of §12.5: experience continuity (§8.6).
func TestDecider_12_5_Continuity(t *testing.T) {
	in, out := map[string]string{"simple-flag": "on"}, map[string]string{"simple-flag": "off"}
	type ask struct {
		id, anonymous string
		want          map[string]string
	}
	for name, c := range map[string]struct {
		continuity bool
		persons    [][]string
		asks       []ask
	}{
		"row 109: kept under the anonymous id": {true, [][]string{{user}}, []ask{
			{user, "", in}, {user, anonymous, out}, {user, "", out}, {user, "another", out},
		}},
		"row 109: for both persons": {true, [][]string{{user}, {anonymous}}, []ask{
			{user, anonymous, out}, {user, "", out}, {anonymous, "", out},
		}},
		"row 109: by any id of the person": {true, [][]string{{user, "work"}}, []ask{
			{user, anonymous, out}, {"work", "", out},
		}},
		"row 109: the identified person's row wins": {true, [][]string{{user}, {"b"}}, []ask{
			{user, anonymous, out}, {"b", user, in}, {"b", "", in}, {user, "b", out},
		}},
		"row 110: nobody known, nothing kept": {true, nil, []ask{
			{user, anonymous, out}, {user, "", in},
		}},
		"row 110: an empty anonymous id is none": {true, [][]string{{user}}, []ask{
			{user, "", in}, {user, "", in},
		}},
		"row 111: a flag without continuity": {false, [][]string{{user}}, []ask{
			{user, anonymous, in}, {user, "", in},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			people := &serving.Memory{}
			for _, ids := range c.persons {
				people.AddPerson(1, time.Time{}, nil, nil, ids...)
			}
			d := newFakeSource(t, continuityFlag(c.continuity)).decider(t, func(dc *serving.Config) { dc.People, dc.Continuity = people, people })
			for i, a := range c.asks {
				if got, _ := decideAll(t, d, step(a.id, a.anonymous)); !cmp.Equal(got, a.want) {
					t.Errorf("question %d: %v, want %v", i+1, got, a.want)
				}
			}
		})
	}
}

// fakeContinuity is a Continuity with one row. It may fail, and counts its calls.
type fakeContinuity struct {
	rows  map[string]string
	err   error
	calls int
	keys  []string
}

func (k *fakeContinuity) Overrides(_ context.Context, _ int64, _, _ string, flagKeys []string) (map[string]string, error) {
	k.calls++
	k.keys = flagKeys
	return k.rows, k.err
}

// A failure to store identifiers fails the flags with continuity only. The store is not
// called if no bucket depends on it (§8.6).
func TestDecider_8_6_ContinuityFails(t *testing.T) {
	definitions := `{"flags": [
		{"id": 1, "key": "kept", "active": true, "ensure_experience_continuity": true, "filters": {"groups": [{"rollout_percentage": 50}]}},
		{"id": 2, "key": "kept-off", "active": false, "ensure_experience_continuity": true, "filters": {"groups": [{"rollout_percentage": 50}]}},
		{"id": 3, "key": "free", "active": true, "filters": {"groups": [{}]}}]}`
	store := &fakeContinuity{err: errors.New("database is down")}
	with := func(dc *serving.Config) { dc.Continuity = store }
	d := newFakeSource(t, definitions).decider(t, with)
	answer := checkDecisions(t, d, step(user, anonymous), map[string]string{"kept": "hash_key_override_error", "free": "on"})
	if !answer.Decisions.Errors || d.Stats().StoreErrors != 1 || !cmp.Equal(store.keys, []string{"kept"}) {
		t.Errorf("errors %v, %+v, asked for %q", answer.Decisions.Errors, d.Stats(), store.keys)
	}
	all := strings.ReplaceAll(definitions, `"rollout_percentage": 50`, `"rollout_percentage": 100`)
	store.calls = 0
	d = newFakeSource(t, all).decider(t, with)
	if checkDecisions(t, d, step(user, anonymous), map[string]string{"kept": "on", "free": "on"}); store.calls != 0 {
		t.Error("asked although everybody is in")
	}
	store.err, store.rows = nil, map[string]string{"simple-flag": anonymous} // row 111: existing rows are used
	d = newFakeSource(t, continuityFlag(true)).decider(t, with)
	checkDecisions(t, d, step(user, "other"), map[string]string{"simple-flag": "off"})
}

// Explain does not count requests. RemoteConfig finds a value by key or id.
func TestDecider_ExplainAndRemoteConfig(t *testing.T) {
	s := newFakeSource(t, `{"flags": [{"id": 31, "key": "settings", "active": true, "is_remote_configuration": true,
		"filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]}], "payloads": {"true": "{}"}}}]}`)
	s.limit(1)
	d := s.decider(t, func(dc *serving.Config) { dc.People = &fakePeople{err: errors.New("database is down")} })
	for range 3 {
		trace, err := d.Explain(context.Background(), &serving.Request{APIKey: "phc_shop", Subject: flags.Subject{DistinctID: "u"}}, "settings")
		if err != nil || trace == nil {
			t.Fatal(trace, err)
		}
	}
	if got := countAnswered(t, s.decider(t, nil), 1); got != 1 {
		t.Error("explaining was counted")
	}
	for name, want := range map[string]bool{"settings": true, "31": true, "32": false, "nowhere": false} {
		if v, ok, err := d.RemoteConfig(context.Background(), "phc_shop", name); ok != want || err != nil || ok && string(v) != `"{}"` {
			t.Errorf("%s: %s %v %v", name, v, ok, err)
		}
	}
	one, v1, err := d.Payload(context.Background(), "phc_shop")
	two, v2, _ := d.Payload(context.Background(), "phc_shop")
	if err != nil || v1 != v2 || v1 == "" || &one[0] != &two[0] {
		t.Error("the payload is made more than once a revision", v1, v2, err)
	}
}

// A Decider requires a Source only.
func TestDecider_New(t *testing.T) {
	if _, err := serving.NewDecider(serving.Config{}); err == nil {
		t.Error("no error without a Source")
	}
	d, err := serving.NewDecider(serving.Config{Source: serving.StaticSource("phc_shop", flags.Project{ID: 1}, parse(t, oneFlag))})
	if err != nil {
		t.Fatal(err)
	}
	if checkDecisions(t, d, serving.Request{}, onOne); time.Since(d.Now()) > time.Minute {
		t.Error("not the time of day")
	}
	if err := decideErr(d, "phc_other"); !errors.Is(err, flags.ErrUnknownKey) {
		t.Error(err)
	}
}
