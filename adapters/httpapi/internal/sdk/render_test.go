package sdk

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// §9.5: the path and the parameters v and config select the shape of a response.
func TestFlags_9_5_Formats(t *testing.T) {
	t.Parallel()
	names := map[shape]string{shapeV2: "v2", shapeLegacy: "legacy", shapeMap: "map", shapeList: "list"}
	show := func(f format) string { return fmt.Sprint(names[f.shape], " ", f.config) }
	for query, want := range map[string][2]string{ // of /flags and of /decide
		"":                 {"v2 true", "list true"},
		"config=true":      {"legacy true", "list true"},
		"config=false":     {"legacy false", "list false"},
		"v=1":              {"legacy false", "list true"},
		"v=1&config=true":  {"legacy true", "list true"},
		"v=0":              {"legacy false", "list true"},
		"v=-2":             {"legacy false", "list true"},
		"v=two":            {"legacy false", "list true"},
		"v=2":              {"v2 false", "map true"},
		"v=2&config=1":     {"v2 true", "map true"},
		"v=2&config=false": {"v2 false", "map false"},
		"v=3":              {"v2 false", "legacy true"},
		"v=3&config=false": {"v2 false", "legacy false"},
		"v=4":              {"v2 false", "v2 true"},
		"v=99":             {"v2 false", "v2 true"},
		"version=2":        {"v2 false", "map true"},
		"v=4&config=0":     {"v2 false", "v2 false"},
	} {
		q := parseQuery(query)
		if got := [2]string{show(flagsFormat(q)), show(decideFormat(q))}; got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}

// renderedAnswer is a response with one flag of each kind: with a variant and a payload, on, off,
// and failed.
func renderedAnswer() *serving.Answer {
	return &serving.Answer{
		At: time.UnixMilli(1767225600000),
		Decisions: flags.Decisions{List: []flags.Decision{
			{Key: "checkout-layout", Enabled: true, Variant: "two-column", Payload: json.RawMessage(`"{\"cols\":2}"`), ID: 17, Version: 3, Reason: flags.Reason{Code: flags.ConditionMatch}},
			{Key: `a "quoted" key`, Enabled: true, ID: 10, HasExperiment: true, Reason: flags.Reason{Code: flags.ConditionMatch, Condition: 12}},
			{Key: "beta", ID: 18, Reason: flags.Reason{Code: flags.OutOfRolloutBound, Condition: 1}},
			{Key: "broken", ID: 19, Version: 1, Reason: flags.Reason{Code: flags.CohortNotFound, Condition: flags.NoCondition}},
		}},
	}
}

// sameJSON compares two JSON documents.
func sameJSON(t *testing.T, name, want, got string) {
	t.Helper()
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Errorf("%s: %v in %s", name, err, got)
		return
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// The shapes of §9.6, with its examples. Failed and disabled flags are false in the legacy shape,
// and absent from the lists of enabled flags.
func TestFlags_9_6_Shapes(t *testing.T) {
	t.Parallel()
	const end = `"requestId":"r","evaluatedAt":1767225600000}`
	for name, c := range map[string]struct {
		f      format
		errors bool
		want   string
	}{
		"v2": {format{shapeV2, false}, true, `{"errorsWhileComputingFlags":true,"flags":{
			"checkout-layout":{"key":"checkout-layout","enabled":true,"variant":"two-column","reason":{"code":"condition_match","condition_index":0,"description":"Matched condition set 1"},
				"metadata":{"id":17,"version":3,"description":null,"payload":"{\"cols\":2}","has_experiment":false}},
			"a \"quoted\" key":{"key":"a \"quoted\" key","enabled":true,"variant":null,"reason":{"code":"condition_match","condition_index":12,"description":"Matched condition set 13"},
				"metadata":{"id":10,"version":0,"description":null,"payload":null,"has_experiment":true}},
			"beta":{"key":"beta","enabled":false,"variant":null,"reason":{"code":"out_of_rollout_bound","condition_index":1,"description":"Out of rollout bound"},
				"metadata":{"id":18,"version":0,"description":null,"payload":null,"has_experiment":false}},
			"broken":{"key":"broken","enabled":false,"variant":null,"failed":true,"reason":{"code":"dependency_not_found_cohort","condition_index":null,"description":"Cohort dependency not found"},
				"metadata":{"id":19,"version":1,"description":null,"payload":null,"has_experiment":false}}},` + end},
		"legacy": {format{shapeLegacy, false}, false, `{"errorsWhileComputingFlags":false,"featureFlags":{"checkout-layout":"two-column","a \"quoted\" key":true,"beta":false,"broken":false},
			"featureFlagPayloads":{"checkout-layout":"{\"cols\":2}"},` + end},
		"map":  {format{shapeMap, false}, true, `{"featureFlags":{"checkout-layout":"two-column","a \"quoted\" key":true},` + end},
		"list": {format{shapeList, false}, true, `{"featureFlags":["checkout-layout","a \"quoted\" key"],` + end},
		// Decision 9: exactly the members of the interface document.
		"config": {format{shapeList, true}, false, `{"featureFlags":["checkout-layout","a \"quoted\" key"],"supportedCompression":["gzip","lz64"],"config":{"enable_collect_everything":true},"toolbarParams":{},"isAuthenticated":false,` + end},
	} {
		a := renderedAnswer()
		a.Decisions.Errors = c.errors
		sameJSON(t, name, c.want, string(appendAnswer(nil, c.f, a, "r", false)))
	}
}

// A response without flags: because the request excludes them, or because the quota is used up, which
// both spellings of SDKs report (decision 11).
func TestFlags_9_6_WithoutFlags(t *testing.T) {
	t.Parallel()
	const end = `"requestId":"r","evaluatedAt":1767225600000}`
	const limited = `"quotaLimited":["feature_flags"],"quota_limited":["feature_flags"],`
	for _, c := range []struct {
		s    shape
		want string
	}{
		{shapeV2, `{"errorsWhileComputingFlags":false,"flags":{},`},
		{shapeLegacy, `{"errorsWhileComputingFlags":false,"featureFlags":{},"featureFlagPayloads":{},`},
		{shapeMap, `{"featureFlags":{},`},
		{shapeList, `{"featureFlags":[],`},
	} {
		a := renderedAnswer()
		sameJSON(t, "empty", c.want+end, string(appendAnswer(nil, format{c.s, false}, a, "r", true)))
		a.QuotaLimited = true
		sameJSON(t, "limited", c.want+limited+end, string(appendAnswer(nil, format{c.s, false}, a, "r", false)))
	}
	a := renderedAnswer()
	a.Decisions.List = nil
	a.Project.Browser = `{"surveys":true,"autocapture_opt_out":false}`
	sameJSON(t, "browser", `{"featureFlags":[],"supportedCompression":["gzip","lz64"],"config":{"enable_collect_everything":true},"toolbarParams":{},"isAuthenticated":false,"surveys":true,"autocapture_opt_out":false,`+end,
		string(appendAnswer(nil, format{shapeList, true}, a, "r", false)))
	for _, object := range []string{"", "{}"} {
		if got := string(appendBrowser([]byte("x"), object)); got != "x" {
			t.Errorf("%q adds %q", object, got)
		}
	}
}

// Numbers of flags, one digit and more.
func TestAppendInt(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{0, 1, 9, 10, 99, 1 << 53, 1<<63 - 1, -1, -10, -1 << 63} {
		if got := string(appendInt(nil, n)); got != fmt.Sprint(n) {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// countsOf returns the counts since the last call, sorted.
func countsOf(e *evaluationCounter) (out []string) {
	for _, c := range e.Take() {
		out = append(out, fmt.Sprint(c.Token, " ", c.Flag, "=", c.Value, " ", c.N))
	}
	slices.Sort(out)
	return out
}

// The evaluations of flags, by project, flag and value. The order of the flags may differ from
// request to request, and failed flags have no value.
func TestEvaluationCounter(t *testing.T) {
	t.Parallel()
	var e evaluationCounter
	if got := countsOf(&e); got != nil {
		t.Errorf("at the beginning: %q", got)
	}
	a, b := flags.Decision{Key: "a", Enabled: true}, flags.Decision{Key: "b"}
	red, blue := flags.Decision{Key: "c", Enabled: true, Variant: "red"}, flags.Decision{Key: "c", Enabled: true, Variant: "blue"}
	failed := flags.Decision{Key: "a", Reason: flags.Reason{Code: flags.FlagCycle}}
	e.add("t", nil)
	e.add("t", []flags.Decision{a, b, red})
	e.add("t", []flags.Decision{blue, b, a})
	e.add("t", []flags.Decision{b})
	e.add("t", []flags.Decision{red, failed})
	e.add("u", []flags.Decision{b, a, {Key: "a"}})
	want := []string{"t a=true 2", "t b=false 3", "t c=blue 1", "t c=red 2", "u a=false 1", "u a=true 1", "u b=false 1"}
	if diff := cmp.Diff(want, countsOf(&e)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := countsOf(&e); got != nil {
		t.Errorf("counted twice: %q", got)
	}
	// The counter stops at its limit of flags, and continues to count the flags that it has.
	list := make([]flags.Decision, maxEvaluationCounts+5)
	for i := range list {
		list[i].Key = fmt.Sprint(i)
	}
	e.add("t", list)
	e.add("u", []flags.Decision{a})
	e.add("t", list[:1])
	if got := e.Take(); len(got) != maxEvaluationCounts {
		t.Errorf("%d counts", len(got))
	}
	e.add("u", []flags.Decision{a})
	if got := countsOf(&e); !cmp.Equal(got, []string{"u a=true 1"}) {
		t.Errorf("after the limit: %q", got)
	}
}
