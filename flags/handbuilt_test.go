package flags_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

func dependsOn(key string) flags.Property {
	return flags.Property{Key: key, Type: flags.FlagProperty, Operator: flags.FlagEvaluatesTo, Value: true}
}

func flagWith(id int64, key string, props ...flags.Property) flags.Flag {
	return flags.Flag{ID: id, Key: key, Active: true, Conditions: []flags.Condition{{Properties: props}}}
}

// chainsOf returns the first dependency chain of each flag in a payload.
func chainsOf(t *testing.T, d *flags.Definitions) map[string][]string {
	t.Helper()
	body, err := d.Payload()
	if err != nil {
		t.Fatal(err)
	}
	var payload struct {
		Flags []struct {
			Key     string
			Filters struct {
				Groups []struct {
					Properties []struct {
						Chain []string `json:"dependency_chain"`
					}
				}
			}
		}
	}
	if err := json.Unmarshal(body, &payload); err != nil {
		t.Fatal(err)
	}
	chains := map[string][]string{}
	for _, f := range payload.Flags {
		for _, g := range f.Filters.Groups {
			for _, p := range g.Properties {
				chains[f.Key] = p.Chain
			}
		}
	}
	return chains
}

// Flags built by hand, with a chain or the index of a group type, have the same chains as
// parsed flags (§1.8).
func TestPayload_1_8_HandBuilt(t *testing.T) {
	company := 0
	chained, grouped := dependsOn("a"), dependsOn("1")
	chained.Chain, grouped.GroupType = []string{"a"}, &company
	d := flags.Definitions{Flags: []flags.Flag{flagWith(1, "a"), flagWith(2, "b", chained), flagWith(3, "c", grouped)}}
	want := map[string][]string{"b": {"a"}, "c": {"a"}}
	if diff := cmp.Diff(want, chainsOf(t, &d)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	read, err := flags.ParseDefinitions([]byte(`{"flags": [{"id": 1, "key": "a", "active": true, "filters": {"groups": [{}]}},
		{"id": 2, "key": "b", "active": true, "filters": {"groups": [{"properties": [
			{"key": "1", "type": "flag", "operator": "flag_evaluates_to", "value": true, "group_type_index": 0}]}]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]string{"b": {"a"}}, chainsOf(t, &read)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Values without a form in JSON result in an error, not in an empty payload.
func TestPayload_1_8_NotJSON(t *testing.T) {
	f := flagWith(1, "a")
	f.Payloads = map[string]json.RawMessage{"true": json.RawMessage("{")}
	d := flags.Definitions{Flags: []flags.Flag{f}}
	if body, err := d.Payload(); err == nil {
		t.Errorf("no error, and the body %q", body)
	}
	if _, err := json.Marshal(f); err == nil {
		t.Error("no error for the flag alone")
	}
}

// A flag with the same key as a failed flag is not used, so that SDKs must not evaluate it
// either (decision 4).
func TestPayload_Decision4_KeyOfAFailure(t *testing.T) {
	bad := flagWith(1, "a", flags.Property{Key: "p", Operator: "no such operator", Value: "x"})
	d := flags.Definitions{Flags: []flags.Flag{bad, flagWith(2, "a"), flagWith(3, "b", dependsOn("2"))}}
	if diff := cmp.Diff(map[string][]string{"b": {}}, chainsOf(t, &d)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	set := flags.Compile(d)
	if got, ok := set.EvaluateFlag("a", &flags.Subject{}, time.Time{}, new(flags.Decisions)); !ok || !got.Failed() {
		t.Errorf("%+v, %v", got, ok)
	}
}

// Chains of more than a thousand flags are left empty; including the flag itself, the
// thousandth flag of a row has 999 others before it.
func TestPayload_1_8_LongChain(t *testing.T) {
	d := flags.Definitions{Flags: []flags.Flag{flagWith(1, "f1")}}
	for i := 2; i <= 1003; i++ {
		d.Flags = append(d.Flags, flagWith(int64(i), "f"+strconv.Itoa(i), dependsOn("f"+strconv.Itoa(i-1))))
	}
	chains := chainsOf(t, &d)
	for key, want := range map[string]int{"f2": 1, "f1001": 1000, "f1002": 0, "f1003": 0} {
		if got := len(chains[key]); got != want {
			t.Errorf("%s has a chain of %d flags, want %d", key, got, want)
		}
	}
}

// Values may be of Go types (see Properties): a list of strings is a list, and an int is the
// id of a cohort.
func TestFlags_1_4_HandBuiltValues(t *testing.T) {
	cohort := flags.Property{Key: "id", Type: flags.CohortProperty, Value: 12}
	d := flags.Definitions{
		Flags:   []flags.Flag{flagWith(1, "list", flags.Property{Key: "p", Value: []string{"x", "y"}}), flagWith(2, "cohort", cohort)},
		Cohorts: map[int64]flags.Cohort{12: {Static: true, Members: []string{"u"}}},
	}
	set := flags.Compile(d)
	for _, fault := range set.Faults() {
		t.Error(fault)
	}
	var out flags.Decisions
	set.Evaluate(&flags.Subject{DistinctID: "u", Person: flags.Properties{"p": "y"}}, time.Time{}, &out)
	for _, decision := range out.List {
		if !decision.Enabled {
			t.Errorf("%+v", decision)
		}
	}
}

// Cohorts that are nested very deeply fail, however they are reached, and the text of a trace
// remains of reasonable size.
func TestFlags_5_DeepCohorts(t *testing.T) {
	const depth = 30_000
	d := flags.Definitions{Cohorts: map[int64]flags.Cohort{}}
	for i := range int64(depth) {
		leaf := flags.Property{Key: "id", Type: flags.CohortProperty, Value: i + 1}
		if i == depth-1 {
			leaf = flags.Property{Key: "p", Type: flags.PersonProperty, Value: "x"}
		}
		d.Cohorts[i] = flags.Cohort{Tree: &flags.CohortNode{Children: []flags.CohortNode{{Leaf: &leaf}}}}
	}
	for i := int64(depth - 1000); i >= 0; i -= 5000 { // from the bottom, so that each starts with the last one compiled
		d.Flags = append(d.Flags, flagWith(i+1, "from-"+strconv.FormatInt(i, 10), flags.Property{Type: flags.CohortProperty, Value: i}))
	}
	set, subject := flags.Compile(d), &flags.Subject{Person: flags.Properties{"p": "x"}}
	var out flags.Decisions
	set.Evaluate(subject, time.Time{}, &out)
	for i := range out.List {
		got, nested := &out.List[i], 1000+5000*i
		if got.Enabled != (nested < 10_000) || got.Failed() != (nested >= 10_000) {
			t.Errorf("%s, %d deep: %+v", got.Key, nested, got.Reason)
		}
	}
	text := set.Explain(d.Flags[1].Key, subject, time.Time{}, flags.Selection{}).String()
	if lines := strings.Count(text, "\n"); len(text) > lines*400 {
		t.Errorf("%d bytes in %d lines", len(text), lines)
	}
}

// The named fact is one that the result depends on, whichever flag used the cohort first
// (decision 2).
func TestFlags_Decision2_FactInACohort(t *testing.T) {
	property := func(key, value string) flags.CohortNode {
		return flags.CohortNode{Leaf: &flags.Property{Key: key, Type: flags.PersonProperty, Value: value}}
	}
	inner := flags.CohortNode{Children: []flags.CohortNode{property("useless", "x"), property("known", "other")}}
	d := flags.Definitions{Cohorts: map[int64]flags.Cohort{1: {Tree: &flags.CohortNode{Any: true, Children: []flags.CohortNode{inner, property("plan", "pro")}}}}}
	in := flags.Property{Key: "id", Type: flags.CohortProperty, Value: int64(1)}
	d.Flags = []flags.Flag{flagWith(1, "first", in), flagWith(2, "second", in)}
	var out flags.Decisions
	flags.Compile(d).Evaluate(&flags.Subject{Person: flags.Properties{"known": "yes"}, Partial: true}, time.Time{}, &out)
	want := &flags.Undecided{Fact: "person property", Name: "plan"}
	for _, decision := range out.List {
		if diff := cmp.Diff(want, decision.Undecided); diff != "" {
			t.Errorf("%s (-want +got):\n%s", decision.Key, diff)
		}
	}
}

// A long list of contexts has the same meaning as a short one (§9.9).
func TestFlags_9_9_ManyContexts(t *testing.T) {
	one, all := flagWith(1, "one"), flagWith(2, "all")
	one.Contexts, all.Contexts, all.ContextsAll = []string{"web", "app"}, []string{"web", "app"}, true
	set := flags.Compile(flags.Definitions{Flags: []flags.Flag{one, all, flagWith(3, "none")}})
	var others []string
	for i := range 100 {
		others = append(others, "other"+strconv.Itoa(i))
	}
	for _, c := range []struct{ contexts, want []string }{
		{others, []string{"none"}},
		{append(others[:99:99], "app"), []string{"one", "none"}},
		{append(others[:99:99], "app", "app", "web"), []string{"one", "all", "none"}},
	} {
		var out flags.Decisions
		set.Select(&flags.Subject{}, time.Time{}, &flags.Selection{Contexts: c.contexts}, &out)
		var got []string
		for _, decision := range out.List {
			got = append(got, decision.Key)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// slowFailure is a Source and a Usage that fail after a delay.
type slowFailure struct {
	mu    sync.Mutex
	calls int
	serving.Source
}

func (s *slowFailure) fail() error {
	s.mu.Lock()
	s.calls++
	s.mu.Unlock()
	time.Sleep(50 * time.Millisecond)
	return errors.New("the database is down")
}

func (s *slowFailure) ProjectByKey(context.Context, string) (flags.Project, error) {
	return flags.Project{}, s.fail()
}

func (s *slowFailure) Spend(context.Context, string, time.Time, int64) (int64, error) {
	return 0, s.fail()
}

// Requests do not queue up for ports that fail: waiting requests share the error. One after
// the other would make 40 calls.
func TestDecider_FailuresAreShared(t *testing.T) {
	limit := int64(1)
	static := serving.StaticSource("key", flags.Project{FlagLimit: &limit}, flags.Definitions{Flags: []flags.Flag{flagWith(1, "a")}})
	for name, build := range map[string]func(s *slowFailure) serving.Config{
		"source": func(s *slowFailure) serving.Config { return serving.Config{Source: s} },
		"usage":  func(s *slowFailure) serving.Config { return serving.Config{Source: static, Usage: s} },
	} {
		t.Run(name, func(t *testing.T) {
			s := &slowFailure{}
			d, err := serving.NewDecider(build(s))
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for range 40 {
				wg.Go(func() {
					var out serving.Answer
					err := d.Decide(context.Background(), &serving.Request{APIKey: "key"}, &out)
					if source := name == "source"; errors.Is(err, flags.ErrUnavailable) != source || !source && out.Decisions.Find("a") == nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if s.calls > 20 {
				t.Errorf("asked %d times", s.calls)
			}
		})
	}
}

// An invalid value has no name, and does not panic.
func TestValueSource_OutOfRange(t *testing.T) {
	if got := fmt.Sprint(flags.ValueSource(200)); got != "" {
		t.Errorf("%q", got)
	}
}
