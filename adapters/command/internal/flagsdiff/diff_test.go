package flagsdiff_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/flagsdiff"
	"github.com/bunting-flags/bunting/flags"
)

func compileJSON(t *testing.T, text string) *flags.Set {
	t.Helper()
	d, err := flags.ParseDefinitions([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return flags.Compile(d)
}

// The bucket of user-17 in beta-search is 0.0091, that of user-61 among the variants of
// checkout-layout 0.5698 (spec/flags.md §2.6); the rest follows from §3.6.
func TestDiff_Why(t *testing.T) {
	flag := func(key, rest string) string {
		return fmt.Sprintf(`{"flags": [{"id": 1, "key": %q, "active": true, "filters": {%s}}], "cohorts": {}}`, key, rest)
	}
	rollout := func(percent string) string {
		return flag("beta-search", `"groups": [{"properties": [], "rollout_percentage": `+percent+`}]`)
	}
	plan := func(value string) string {
		return flag("f", `"groups": [{"properties": [{"key": "plan", "type": "person", "value": "`+value+`"}]}]`)
	}
	variants := func(a, b string) string {
		return flag("checkout-layout", `"groups": [{}], "multivariate": {"variants": [{"key": "a", "rollout_percentage": `+a+`}, {"key": "b", "rollout_percentage": `+b+`}]}`)
	}
	cohort := func(value string) string {
		return `{"flags": [{"id": 1, "key": "f", "active": true, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "operator": "in", "value": 7}]}]}}],
			"cohorts": {"7": {"type": "AND", "values": [{"key": "plan", "type": "person", "value": "` + value + `"}]}}}`
	}
	depends := func(active string) string {
		return `{"flags": [{"id": 1, "key": "f", "active": true, "filters": {"groups": [{"properties": [{"key": "2", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}]}},
			{"id": 2, "key": "base", "active": ` + active + `, "filters": {"groups": [{}]}}]}`
	}
	noFlags := `{"flags": []}`
	first, second := `{"properties": [{"key": "plan", "type": "person", "value": "pro"}], "variant": "a"}`, `{"properties": [{"key": "seats", "type": "person", "operator": "gt", "value": 1}], "variant": "b"}`
	two := `"multivariate": {"variants": [{"key": "a", "rollout_percentage": 100}, {"key": "b", "rollout_percentage": 0}]}, `
	user := flags.Subject{DistinctID: "u", Person: flags.Properties{"plan": "pro", "seats": int64(5)}}
	tests := map[string]struct {
		before, after string
		sub           flags.Subject
		want          string // key: before -> after, cause; empty if nothing changes
		text          string // part of the reason
	}{
		"same":             {rollout("20"), rollout("20"), flags.Subject{DistinctID: "user-17"}, "", ""},
		"still in":         {rollout("20"), rollout("50"), flags.Subject{DistinctID: "user-17"}, "", ""},
		"rollout down":     {rollout("20"), rollout("0.5"), flags.Subject{DistinctID: "user-17"}, "beta-search: true -> false, rollout", "was 20 % and is 0.5 %; the bucket is 0.0091"},
		"rollout up":       {rollout("0.5"), rollout("100"), flags.Subject{DistinctID: "user-17"}, "beta-search: false -> true, rollout", "was 0.5 % and is 100 %"},
		"requirement":      {plan("pro"), plan("team"), user, "f: true -> false, condition", `person property "plan" exact "pro"`},
		"condition new":    {flag("f", `"groups": []`), plan("pro"), user, "f: false -> true, condition", "condition 1, which decides now, is new"},
		"condition gone":   {plan("pro"), flag("f", `"groups": []`), user, "f: true -> false, condition", "condition 1, which decided before, is removed"},
		"order":            {flag("f", two+`"groups": [`+first+","+second+"]"), flag("f", two+`"groups": [`+second+","+first+"]"), user, "f: a -> b, order", "condition 1, which decides now, was not reached before"},
		"one before it":    {flag("f", two+`"groups": [`+first+"]"), flag("f", two+`"groups": [`+second+","+first+"]"), user, "f: a -> b, condition", "condition 1, which decides now, is new"},
		"variant shares":   {variants("60", "40"), variants("50", "50"), flags.Subject{DistinctID: "user-61"}, "checkout-layout: a -> b, variants", "bucket 0.5698252224547713 was in a and is in b"},
		"forced variant":   {variants("60", "40"), strings.Replace(variants("60", "40"), "[{}]", `[{"variant": "b"}]`, 1), flags.Subject{DistinctID: "user-61"}, "checkout-layout: a -> b, variants", "gave \"a\" and gives \"b\""},
		"cohort":           {cohort("pro"), cohort("team"), user, "f: true -> false, cohort", "membership of cohort 7 was yes and is no"},
		"dependency":       {depends("true"), depends("false"), user, "base: true -> none, deactivated|f: true -> false, dependency", ""},
		"new":              {noFlags, plan("pro"), user, "f: none -> true, new", "the flag is new"},
		"removed":          {plan("pro"), noFlags, user, "f: true -> none, removed", "the flag is removed"},
		"never answered":   {noFlags, strings.Replace(plan("pro"), `"active": true`, `"active": false`, 1), user, "", ""},
		"payload":          {flag("f", `"groups": [{}], "payloads": {"true": "1"}`), flag("f", `"groups": [{}], "payloads": {"true": "2"}`), user, "f: true -> true, payload", "the payload has changed"},
		"pinned":           {flag("f", `"groups": [{}]`), strings.Replace(flag("f", `"groups": [{}]`), `"filters"`, `"pins": [{"group_type": "company", "group_key": "acme", "value": false}], "filters"`, 1), flags.Subject{DistinctID: "u", Groups: map[string]string{"company": "acme"}}, "f: true -> false, pinned", "it is: a value is pinned for the group company \"acme\""},
		"early access":     {flag("f", `"groups": [{}]`), flag("f", `"groups": [{}], "feature_enrollment": true`), flags.Subject{DistinctID: "u", Person: flags.Properties{"$feature_enrollment/f": false}}, "f: true -> false, enrollment", "now decides"},
		"holdout":          {flag("f", `"groups": [{}], "holdout": {"id": 3, "exclusion_percentage": 1}`), flag("f", `"groups": [{}], "holdout": {"id": 3, "exclusion_percentage": 2}`), flags.Subject{DistinctID: "user-31"}, "f: true -> holdout-3, holdout", "was 1 % and is 2 %"},
		"matching version": {flag("f", `"groups": [{"properties": [{"key": "plan", "type": "person", "value": "false"}]}]`), strings.Replace(flag("f", `"groups": [{"properties": [{"key": "plan", "type": "person", "value": "false"}]}]`), `"cohorts"`, `"property_matching_version": 2, "cohorts"`, 1), user, "f: true -> false, condition", ""},
		"early exit":       {flag("f", `"groups": [{"rollout_percentage": 0}, {}]`), flag("f", `"early_exit": true, "groups": [{"rollout_percentage": 0}, {}]`), user, "f: true -> false, order", "is not reached"},
		"failed":           {plan("pro"), flag("f", `"version": 2`), user, "f: true -> false, failed", "it is: failed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := flagsdiff.New(compileJSON(t, tt.before), compileJSON(t, tt.after), flagsdiff.Options{})
			var got, texts []string
			for _, c := range d.Compare(&tt.sub, time.Unix(1_750_000_000, 0)) {
				got = append(got, fmt.Sprintf("%s: %s -> %s, %s", c.Key, valueText(c.Before), valueText(c.After), c.Why.Cause))
				texts = append(texts, c.Why.Text)
			}
			if s := strings.Join(got, "|"); s != tt.want {
				t.Errorf("changes %q, want %q (%q)", s, tt.want, texts)
			}
			if s := strings.Join(texts, "|"); !strings.Contains(s, tt.text) {
				t.Errorf("reason %q, want a part %q", s, tt.text)
			}
		})
	}
}

func valueText(a flagsdiff.Answer) string {
	if !a.Answered {
		return "none"
	}
	return fmt.Sprint(a.Value)
}

// Among 100 users, exactly those change that have a bucket in the added share.
func TestDiff_TotalsAndLimit(t *testing.T) {
	text := `{"flags": [{"id": 1, "key": "f", "active": true, "filters": {"groups": [{"rollout_percentage": %d}]}}, {"id": 2, "key": "same", "active": true, "filters": {"groups": [{}]}}]}`
	before, after := compileJSON(t, fmt.Sprintf(text, 0)), compileJSON(t, fmt.Sprintf(text, 100))
	d := flagsdiff.New(before, after, flagsdiff.Options{Limit: 3})
	returned := 0
	for i := range 100 {
		returned += len(d.Compare(&flags.Subject{DistinctID: fmt.Sprint("user-", i)}, time.Unix(0, 0)))
	}
	if got, want := fmt.Sprint(d.Totals()), "[{f 100 100 1}]"; got != want {
		t.Errorf("totals %s, want %s", got, want)
	}
	if compared, changed := d.Users(); compared != 100 || changed != 100 || returned != 3 {
		t.Errorf("%d compared, %d changed, %d returned, want 100, 100, 3", compared, changed, returned)
	}
}

func TestDiff_FlagsOfOneSide(t *testing.T) {
	record := `{"id": %d, "key": %q, "active": %t, "filters": {"groups": [{}]}}`
	a := fmt.Sprintf(`{"flags": [`+record+","+record+","+record+`]}`, 1, "both", true, 2, "gone", true, 3, "paused", true)
	b := fmt.Sprintf(`{"flags": [`+record+","+record+","+record+`]}`, 1, "both", true, 4, "fresh", false, 3, "paused", false)
	d := flagsdiff.New(compileJSON(t, a), compileJSON(t, b), flagsdiff.Options{})
	if got, want := fmt.Sprint(d.Flags()), "[{fresh new} {gone removed} {paused deactivated}]"; got != want {
		t.Errorf("flags %s, want %s", got, want)
	}
	d = flagsdiff.New(compileJSON(t, a), compileJSON(t, b), flagsdiff.Options{Keys: []string{"both", "nowhere"}})
	if got := fmt.Sprint(d.Flags(), d.Unknown()); got != "[] [nowhere]" {
		t.Errorf("flags and unknown keys %s, want none and nowhere", got)
	}
}

func TestDiff_Reasons(t *testing.T) {
	a := compileJSON(t, `{"flags": [{"id": 1, "key": "f", "active": true, "filters": {"groups": [{}]}}]}`)
	b := compileJSON(t, `{"flags": [{"id": 1, "key": "f", "active": true, "filters": {"groups": [{"rollout_percentage": 0}, {}]}}]}`)
	sub := flags.Subject{DistinctID: "u"}
	if got := flagsdiff.New(a, b, flagsdiff.Options{}).Compare(&sub, time.Unix(0, 0)); len(got) != 0 {
		t.Errorf("the same value from another condition is a change: %v", got)
	}
	if got := flagsdiff.New(a, b, flagsdiff.Options{Reasons: true}).Compare(&sub, time.Unix(0, 0)); len(got) != 1 {
		t.Errorf("%d changes, want 1 when reasons count", len(got))
	}
}

// An open reason does not differ from any other reason. A changed value is reported without a
// condition if the condition is unknown.
func TestDiff_OpenReason(t *testing.T) {
	openReason := `{"flags": [{"id": 1, "key": "f", "active": true, "filters": {"groups": [
		{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]}, {}], "payloads": {"true": "5"}}}]}`
	at := time.Unix(1_750_000_000, 0)
	open := compileJSON(t, openReason)
	decidable := compileJSON(t, strings.Replace(openReason, `{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]}, {}`, `{}`, 1))
	sub := &flags.Subject{DistinctID: "u", Partial: true}
	if got := flagsdiff.New(open, decidable, flagsdiff.Options{Reasons: true}).Compare(sub, at); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	sub.Person = flags.Properties{"plan": "free"}
	if got := flagsdiff.New(open, decidable, flagsdiff.Options{Reasons: true}).Compare(sub, at); len(got) != 1 || got[0].Why.Cause != flagsdiff.CauseReason {
		t.Errorf("with both reasons known: %+v", got)
	}
	sub.Person = nil
	never := compileJSON(t, `{"flags": [{"id": 1, "key": "f", "active": true, "filters": {"groups": [{"rollout_percentage": 0}]}}]}`)
	got := flagsdiff.New(open, never, flagsdiff.Options{}).Compare(sub, at)
	if len(got) != 1 || got[0].Why.Cause != flagsdiff.CauseCondition || !strings.Contains(got[0].Why.Text, "not known which condition decides") {
		t.Errorf("%+v", got)
	}
}
