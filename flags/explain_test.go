package flags_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
)

// checkReplay checks that the explanation of a flag has the result of an evaluation without a
// trace, and that its trace has the same result after encoding to JSON and decoding.
func checkReplay(t testing.TB, set *flags.Set, key string, sub *flags.Subject, now time.Time, sel flags.Selection) {
	t.Helper()
	var out flags.Decisions
	sel.Keys = []string{key}
	set.Select(sub, now, &sel, &out)
	plain := out.Find(key)

	trace := set.Explain(key, sub, now, sel)
	if trace.Found != (plain != nil) {
		t.Fatalf("%s: explained %v, answered %v", key, trace.Found, plain)
	}
	if trace.Decided == "" || trace.String() == "" {
		t.Errorf("%s: the trace does not say what decided", key)
	}
	if plain != nil {
		if diff := cmp.Diff(asTraced(plain), trace.Decision); diff != "" {
			t.Errorf("%s: explained otherwise than answered (-answered +explained):\n%s\n%s", key, diff, trace)
		}
	}
	if diff := cmp.Diff(flags.ReadFacts(set, key, sub, now, sel, false), flags.ReadFacts(set, key, sub, now, sel, true)); diff != "" {
		t.Errorf("%s: explaining looks elsewhere than deciding (-deciding +explaining):\n%s", key, diff)
	}
	data, err := json.Marshal(trace)
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	var back flags.Trace
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatalf("%s: %v in %s", key, err, data)
	}
	again, found := set.Replay(&back)
	if found != (plain != nil) {
		t.Fatalf("%s: replayed %v, answered %v", key, found, plain)
	}
	if plain == nil {
		return
	}
	if diff := cmp.Diff(asTraced(plain), asTraced(&again)); diff != "" {
		t.Errorf("%s: replayed otherwise than answered (-answered +replayed):\n%s\n%s", key, diff, data)
	}
}

// asTraced returns a decision in the form of a trace.
func asTraced(d *flags.Decision) flags.TraceDecision {
	return flags.TraceDecision{
		Enabled: d.Enabled, Variant: d.Variant, Payload: d.Payload, Code: d.Reason.Code.String(), Condition: d.Reason.Condition,
		Description: d.Reason.Description(), Failed: d.Failed(), Undecided: d.Undecided, ReasonOpen: d.ReasonOpen,
	}
}

func TestExplain_ReplayGivesTheSameAnswer(t *testing.T) {
	eachOperator(t, func(t *testing.T, op flags.Operator, cases []operatorCase) {
		for i := range cases {
			c := &cases[i]
			set := c.compile(t, map[string]map[string]any{"f": c.filter(op)})
			sub := c.subject(t)
			checkReplay(t, set, "f", sub, c.At, flags.Selection{})
			sub.Partial = true
			checkReplay(t, set, "f", sub, c.At, flags.Selection{})
		}
	})
	for _, folder := range []string{"decisions", "edgecases"} {
		t.Run(folder, func(t *testing.T) {
			cases, _ := readCases(t, folder)
			for i := range cases {
				replayCase(t, &cases[i])
			}
		})
	}
}

// replayCase explains and replays every flag of a case, and a flag that does not exist.
func replayCase(t *testing.T, c *testCase) {
	t.Helper()
	d, err := flags.ParseDefinitions(c.Definition)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	sub := c.Subject.subject()
	if c.Stored != nil {
		stored := flags.Stored(*c.Stored)
		sub.Stored = &stored
	}
	set := flags.Compile(d)
	keys := []string{"no such flag"}
	for i := range d.Flags {
		keys = append(keys, d.Flags[i].Key)
	}
	for _, key := range keys {
		checkReplay(t, set, key, &sub, c.at(), c.Selection)
	}
}

// tracedDefinitions has an example of everything that a trace contains.
const tracedDefinitions = `{
	"group_type_mapping": {"0": "organization"},
	"flags": [
		{"id": 1, "key": "beta-search", "active": true, "filters": {"groups": [
			{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": ["Pro", "team"]}], "rollout_percentage": 1}
		]}},
		{"id": 2, "key": "checkout-layout", "active": true, "filters": {
			"holdout": {"id": 7, "exclusion_percentage": 2},
			"multivariate": {"variants": [{"key": "control", "rollout_percentage": 50}, {"key": "treatment", "rollout_percentage": 50}]},
			"payloads": {"treatment": "{\"columns\": 2}"},
			"groups": [
				{"aggregation_group_type_index": 0, "properties": [{"key": "tier", "type": "group", "operator": "exact", "value": "gold"}]},
				{"properties": [{"key": "1", "type": "flag", "operator": "flag_evaluates_to", "value": true}]},
				{"properties": [
					{"key": "id", "type": "cohort", "operator": "in", "value": 42},
					{"key": "email", "type": "person", "operator": "not_icontains", "value": "@Example.com"}
				], "rollout_percentage": 90},
				{"rollout_percentage": 5}
			]
		}}
	],
	"cohorts": {"42": {"type": "OR", "values": [
		{"key": "seats", "type": "person", "operator": "gt", "value": 10},
		{"key": "joined", "type": "person", "operator": "is_date_after", "value": "-7d", "negation": true}
	]}}
}`

// The bucket of the variant is a vector of §2.6. The other three are SHA-1 digests of the
// displayed inputs, their first 60 bits divided by 2^60, computed separately. Seven days
// before 1 May 2024 12:00 are 24 April 2024 12:00; 1700000000 is in November 2023.
const tracedText = `flag "checkout-layout" at 2024-05-01T12:00:00Z
  answer: "treatment" (condition_match: Matched condition set 3)
  because: condition 3 of 4 matched: sha1 of "checkout-layout.user-61" is 0.8571438132727491 <= 0.9; variant treatment by bucket 0.5698252224547713
  depends on flag "beta-search": false (out_of_rollout_bound: Out of rollout bound), because no condition matched; condition 1 came closest: sha1 of "beta-search.user-61" is 0.9557900487591784 > 0.01
    condition 1, about a person: out_of_rollout_bound
      person property "plan" exact ["pro","team"]; saw "pro" (string, request): yes
      rollout: sha1 of "beta-search.user-61" is 0.9557900487591784 > 0.01
  holdout: sha1 of "holdout-user-61" is 0.39612893734741916 > 0.02: no
  condition 1, about a group organization: no_group_type (the request names no such group)
  condition 2, about a person: no_condition_match
    flag "beta-search" is false, wanted true: no
  condition 3, about a person: condition_match
    person property "email" not_icontains "@example.com"; saw "ann@other.org" (string, stored): yes
    in cohort 42: yes
      any of: yes
        person property "seats" gt 10; saw "7" (string, request): no
        person property "joined" is_date_after "2024-04-24T12:00:00Z"; saw 1700000000 (integer, stored): no, negated
    rollout: sha1 of "checkout-layout.user-61" is 0.8571438132727491 <= 0.9
    variant: sha1 of "checkout-layout.user-61variant" is 0.5698252224547713: treatment
  condition 4, about a person: not reached
`

func tracedSubject() *flags.Subject {
	return &flags.Subject{
		DistinctID: "user-61",
		Person:     flags.Properties{"plan": "pro", "seats": "7", "unused": true},
		Stored: &flags.Stored{
			Person: flags.Properties{"email": "ann@other.org", "joined": int64(1700000000), "seats": int64(100), "secret": "not looked at"},
		},
	}
}

func TestExplain_Text(t *testing.T) {
	d, err := flags.ParseDefinitions([]byte(tracedDefinitions))
	if err != nil {
		t.Fatal(err)
	}
	set := flags.Compile(d)
	trace := set.Explain("checkout-layout", tracedSubject(), usualTime, flags.Selection{})
	if diff := cmp.Diff(tracedText, trace.String()); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
	if got := string(trace.Decision.Payload); got != `"{\"columns\": 2}"` {
		t.Errorf("payload %s", got)
	}
	// A trace contains exactly the facts that were used.
	data, err := json.Marshal(trace)
	if err != nil {
		t.Fatal(err)
	}
	for _, unseen := range []string{"secret", "unused"} {
		if bytes.Contains(data, []byte(unseen)) {
			t.Errorf("the trace holds %q, which nothing asked for: %s", unseen, data)
		}
	}
	checkReplay(t, set, "checkout-layout", tracedSubject(), usualTime, flags.Selection{})
}

// Cohorts after the first non-match are not reached, with and without a trace.
func TestExplain_SameOrderAsDeciding(t *testing.T) {
	set := compileJSON(t, `{
		"flags": [{"id": 1, "key": "f", "active": true, "filters": {"groups": [{"properties": [
			{"key": "id", "type": "cohort", "operator": "in", "value": 1},
			{"key": "id", "type": "cohort", "operator": "in", "value": 2}
		]}]}}],
		"cohorts": {
			"1": {"type": "AND", "values": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]},
			"2": {"type": "AND", "values": [{"key": "seats", "type": "person", "operator": "exact", "value": "5"}]}
		}
	}`)
	sub := &flags.Subject{DistinctID: "u", Person: flags.Properties{"plan": "free", "seats": "5"}}
	checkReplay(t, set, "f", sub, usualTime, flags.Selection{})
	trace := set.Explain("f", sub, usualTime, flags.Selection{})
	filters := trace.Flags[0].Conditions[0].Filters
	if len(filters) != 2 || filters[0].Result != "no" || filters[1].Result != "not reached" {
		t.Errorf("want the first cohort missed and the second not reached:\n%s", trace)
	}
	if _, seen := trace.Subject.Person["seats"]; seen {
		t.Error("the trace holds a property that deciding does not look at")
	}
}

// A flag that is not evaluated can be explained too.
func TestExplain_Absence(t *testing.T) {
	d, err := flags.ParseDefinitions([]byte(`{"flags": [
		{"id": 1, "key": "off", "active": false, "filters": {"groups": [{}]}},
		{"id": 2, "key": "client", "active": true, "evaluation_runtime": "client", "filters": {"groups": [{}]}},
		{"id": 3, "key": "a", "active": true, "filters": {"groups": [{"properties": [{"key": "4", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}]}},
		{"id": 4, "key": "b", "active": true, "filters": {"groups": [{"properties": [{"key": "3", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}]}}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	set := flags.Compile(d)
	for key, want := range map[string]string{
		"off": "not active", "client": "runtime", "a": "cycle", "b": "cycle", "nobody": `no flag "nobody"`,
	} {
		trace := set.Explain(key, &flags.Subject{DistinctID: "u"}, usualTime, flags.Selection{Runtime: "server"})
		if trace.Found || !strings.Contains(trace.Decided, want) || !strings.Contains(trace.String(), want) {
			t.Errorf("%s: found %v, decided %q; want a line with %q", key, trace.Found, trace.Decided, want)
		}
		checkReplay(t, set, key, &flags.Subject{DistinctID: "u"}, usualTime, flags.Selection{Runtime: "server"})
	}
}

// Evaluation without a trace does not allocate after its memory has grown: for a flag with
// every operator, and for the traced flags. (The machines of other regular expressions are
// from a pool, which the race detector sometimes empties.)
func TestExplain_EvaluationWithoutTraceAllocatesNothing(t *testing.T) {
	values := map[flags.Operator]string{
		flags.Exact: `["a","b","c"]`, flags.IsNot: `"x"`, flags.IContainsMulti: `["a","b"]`, flags.NotIContainsMulti: `["a"]`,
		flags.Regex: `"^abc"`, flags.NotRegex: `"x$"`, flags.Between: `[1,10]`, flags.NotBetween: `[1,10]`,
		flags.IsDateExact: `"2024-01-01"`, flags.IsDateBefore: `"-7d"`, flags.IsDateAfter: `"2024-01-01T00:00:00Z"`,
	}
	groups := []any{}
	for _, op := range flags.Operators() {
		value, ok := values[op.Name]
		if !ok {
			value = `"1.2.3"`
		}
		for _, key := range []string{"text", "whole", "float", "version", "date", "list", "missing"} {
			if strings.HasPrefix(string(op.Name), "is_date") && (key == "text" || key == "version") {
				continue // the general date parser uses such expressions
			}
			groups = append(groups, map[string]any{"properties": []any{
				map[string]any{"key": key, "type": "person", "operator": op.Name, "value": json.RawMessage(value)},
				map[string]any{"key": "never", "type": "person", "operator": "is_set"},
			}})
		}
	}
	doc, err := json.Marshal(map[string]any{
		"timezone": "Europe/Oslo",
		"flags":    []any{map[string]any{"id": 9, "key": "all", "active": true, "filters": map[string]any{"groups": groups}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	sub := tracedSubject()
	for key, v := range map[string]any{
		"text": "abc1", "whole": int64(5), "float": 5.5, "version": "1.2.3-rc.1", "date": "2024-01-01", "list": []any{"a", int64(1)},
	} {
		sub.Person[key] = v
	}
	for _, source := range []string{tracedDefinitions, string(doc)} {
		d, err := flags.ParseDefinitions([]byte(source))
		if err != nil {
			t.Fatal(err)
		}
		set := flags.Compile(d)
		var out flags.Decisions
		set.Evaluate(sub, usualTime, &out) // grow the memory
		want := slices.Clone(out.List)
		if n := testing.AllocsPerRun(100, func() { set.Evaluate(sub, usualTime, &out) }); n != 0 && !flags.RaceDetector {
			t.Errorf("%v allocations in an evaluation", n)
		}
		if diff := cmp.Diff(want, out.List, cmp.AllowUnexported(flags.Reason{})); diff != "" {
			t.Errorf("the answer changed (-first +last):\n%s", diff)
		}
	}
	regexp2.StopTimeoutClock()
}
