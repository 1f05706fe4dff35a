package flags_test

import (
	"context"
	"strings"
	"testing"

	"github.com/dlclark/regexp2/v2"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// A search over the time limit is no match in a flag, for regex and for not_regex; in a
// cohort, negation inverts the result (§4.9). It is counted, and a trace has a separate
// outcome for it (decision 8). The pattern has 2^32 ways to fail on this text.
func TestFlags_Decision8_TimeLimit(t *testing.T) {
	t.Cleanup(regexp2.StopTimeoutClock)
	filter := func(operator, pattern, more string) string {
		return `{"key":"p","type":"person","operator":"` + operator + `","value":"` + pattern + `"` + more + `}`
	}
	flag := func(id, key, filter string) string {
		return `{"id":` + id + `,"key":"` + key + `","active":true,"filters":{"groups":[{"properties":[` + filter + `]}]}}`
	}
	const hostile, harmless = `(?!b)(a|aa)+$`, `(?!b)b+$`
	d, err := flags.ParseDefinitions([]byte(`{"flags":[` + strings.Join([]string{
		flag("1", "regex", filter("regex", hostile, "")), flag("2", "not_regex", filter("not_regex", hostile, "")),
		flag("3", "cohort", `{"key":"id","type":"cohort","value":1}`), flag("4", "plain-miss", filter("not_regex", harmless, "")),
	}, ",") + `],"cohorts":{"1":{"type":"AND","values":[` + filter("regex", hostile, `,"negation":true`) + `]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	decider, err := serving.NewDecider(serving.Config{Source: serving.StaticSource("phc_test", flags.Project{ID: 1}, d)})
	if err != nil {
		t.Fatal(err)
	}
	r := serving.Request{APIKey: "phc_test", Subject: flags.Subject{DistinctID: "u", Person: flags.Properties{"p": strings.Repeat("a", 64) + "!"}}}
	before := decider.Stats().PatternTimeouts
	var answer serving.Answer
	if err := decider.Decide(context.Background(), &r, &answer); err != nil {
		t.Fatal(err)
	}
	if n := decider.Stats().PatternTimeouts - before; n != 3 {
		t.Errorf("%d searches counted, want 3", n)
	}
	for key, want := range map[string]bool{"regex": false, "not_regex": false, "cohort": true, "plain-miss": true} {
		if got := answer.Decisions.Find(key); got == nil || got.Enabled != want || got.Failed() {
			t.Errorf("%s: %+v", key, got)
		}
	}
	if answer.Decisions.Errors {
		t.Error("a search over the limit is no error")
	}
	note := func(key string) (result, note string) {
		trace, err := decider.Explain(context.Background(), &r, key)
		if err != nil || len(trace.Flags) != 1 {
			t.Fatalf("%s: %v, %+v", key, err, trace)
		}
		f := trace.Flags[0].Conditions[0].Filters[0]
		return f.Result, f.Note
	}
	if result, text := note("not_regex"); result != "invalid" || !strings.Contains(text, "time limit") {
		t.Errorf("traced as %s, %q", result, text)
	}
	if result, text := note("plain-miss"); result != "yes" || text != "" {
		t.Errorf("traced as %s, %q", result, text)
	}
}

// A pattern with a program that would be too large is a fault with its path and never
// matches. A text that is too long for a pattern is no match, for regex and not_regex, and
// counted. The attack took 10 s on this text.
func TestFlags_4_5_RegexCost(t *testing.T) {
	const attack = `((a{1,100}){1,10}b){1,10}`
	flag := func(id, operator, pattern string) string {
		return `{"id":` + id + `,"key":"f` + id + `","active":true,"filters":{"groups":[{"properties":[{"key":"p","type":"person","operator":"` + operator + `","value":"` + pattern + `"}]}]}}`
	}
	const large = `(a{1,100}){1,10}b` // about 2,000 instructions
	d, err := flags.ParseDefinitions([]byte(`{"flags":[` + strings.Join([]string{
		flag("1", "regex", attack), flag("2", "not_regex", attack), flag("3", "regex", large), flag("4", "not_regex", large), flag("5", "not_regex", "ab"),
	}, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	faults := flags.Compile(d).Faults()
	if len(faults) != 2 || faults[0].Path != "flags[0].filters.groups[0].properties[0].value" || !strings.Contains(faults[0].Problem, "instructions, more than 10000") {
		t.Fatalf("faults %v", faults)
	}
	decider, err := serving.NewDecider(serving.Config{Source: serving.StaticSource("phc_test", flags.Project{ID: 1}, d)})
	if err != nil {
		t.Fatal(err)
	}
	r := serving.Request{APIKey: "phc_test", Subject: flags.Subject{DistinctID: "u", Person: flags.Properties{"p": strings.Repeat("a", 1<<20)}}}
	before := decider.Stats().PatternTimeouts
	var answer serving.Answer
	if err := decider.Decide(context.Background(), &r, &answer); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{"f1": false, "f2": false, "f3": false, "f4": false, "f5": true} {
		if got := answer.Decisions.Find(key); got == nil || got.Enabled != want || got.Failed() {
			t.Errorf("%s: %+v", key, got)
		}
	}
	if n := decider.Stats().PatternTimeouts - before; n != 2 {
		t.Errorf("%d searches counted, want 2", n)
	}
}
