package batchexports_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// An operator has the meaning that it has in flags (decision 40). Each row is a list of filters, and
// the events that pass all of them. The time is 13:00:30 on 2 January 2026.
func TestFilters_Operators(t *testing.T) {
	all := &ledger{}
	for _, e := range [][3]string{
		{"a", `{"plan":"pro","n":5,"at":"2026-01-01T12:00:00Z","list":["x","y"],"$exception_types":["TypeError","RangeError"]}`, `{"level":"gold","age":"30"}`},
		{"b", `{"plan":"free","n":1,"at":"2026-01-02T12:30:00Z","on":true,"$exception_types":[]}`, `{"level":"silver"}`},
		{"c", `{}`, ``},
	} {
		all.add(e[0], "2026-01-02 12:30", e[1])
		all.events[len(all.events)-1].PersonProperties = e[2]
	}
	for _, c := range [][2]string{
		{`{"key":"plan","operator":"exact","value":"pro"}`, " a"},
		{`{"key":"plan","operator":"exact","value":"PRO"}`, " a"},
		{`{"key":"plan","operator":"exact","value":["pro","free"]}`, " a b"},
		{`{"key":"plan","operator":"exact","value":[]}`, ""},
		{`{"key":"plan","value":"free"}`, " b"},
		{`{"key":"plan","operator":null,"value":"free"}`, " b"},
		{`{"key":"plan","operator":"is_not","value":"pro"}`, " b c"},
		{`{"key":"plan","operator":"is_not","value":["pro","free"]}`, " c"},
		{`{"key":"none","operator":"is_not","value":"x"}`, " a b c"},
		{`{"key":"plan","operator":"icontains","value":"RE"}`, " b"},
		{`{"key":"plan","operator":"icontains","value":["xx","pr"]}`, " a"},
		{`{"key":"plan","operator":"not_icontains","value":"pr"}`, " b c"},
		{`{"key":"plan","operator":"not_icontains","value":["pr","fr"]}`, " c"},
		{`{"key":"plan","operator":"regex","value":"^fr"}`, " b"},
		{`{"key":"plan","operator":"regex","value":"^r"}`, ""},
		{`{"key":"plan","operator":"not_regex","value":"^fr"}`, " a c"},
		{`{"key":"n","operator":"exact","value":5}`, " a"},
		{`{"key":"n","operator":"exact","value":"5"}`, " a"},
		{`{"key":"on","operator":"exact","value":"true"}`, " b"},
		{`{"key":"n","operator":"gt","value":1}`, " a"},
		{`{"key":"n","operator":"gte","value":1}`, " a b"},
		{`{"key":"n","operator":"lt","value":5}`, " b"},
		{`{"key":"n","operator":"lte","value":5}`, " a b"},
		{`{"key":"n","operator":"between","value":[1,4]}`, " b"},
		{`{"key":"n","operator":"not_between","value":[1,4]}`, " a c"},
		{`{"key":"plan","operator":"is_set"}`, " a b"},
		{`{"key":"plan","operator":"is_not_set"}`, " c"},
		{`{"key":"at","operator":"is_date_before","value":"2026-01-02"}`, " a"},
		{`{"key":"at","operator":"is_date_after","value":"2026-01-02"}`, " b"},
		{`{"key":"at","operator":"is_date_after","value":"-1h"}`, " b"},
		{`{"key":"at","operator":"is_date_before","value":"-1d"}`, " a"},
		// Arrays are compared by their elements only if they are one of the four of exceptions.
		{`{"key":"$exception_types","operator":"exact","value":"RangeError"}`, " a"},
		{`{"key":"$exception_types","operator":"is_not","value":"RangeError"}`, " b c"},
		{`{"key":"$exception_types","operator":"icontains","value":"typeerr"}`, " a"},
		{`{"key":"$exception_types","operator":"is_set"}`, " a"},
		{`{"key":"list","operator":"exact","value":"y"}`, ""},
		// Filters of persons read the person, and filters of events the event.
		{`{"key":"level","type":"person","value":"gold"}`, " a"},
		{`{"key":"level","type":"person","operator":"is_not","value":"gold"}`, " b c"},
		{`{"key":"level","type":"person","operator":"is_not_set"}`, " c"},
		{`{"key":"level","type":"event","value":"gold"}`, ""},
		{`{"key":"plan","type":"person","operator":"is_set"}`, ""},
		{`{"key":"age","type":"person","operator":"gt","value":9}`, " a"},
		// All filters have to hold, of both types.
		{`{"key":"plan","operator":"is_set"},{"key":"n","operator":"lt","value":5}`, " b"},
		{`{"key":"plan","value":"pro"},{"key":"level","type":"person","value":"silver"}`, ""},
		{`{"key":"plan","operator":"is_set"},{"key":"level","type":"person","operator":"is_not","value":"silver"}`, " a"},
	} {
		w := newWorld(t)
		w.ledger.events = all.events
		w.Run(t, w.calls(t), []ruletest.Row{
			{"decision 40 " + c[0], "bob", "create", files(`,"filters":[` + c[0] + `]`), `{"name":"x"}`},
			{"decision 40 " + c[0], "bob", "at 2026-01-02 13:00:30", ``, `null`},
			{"decision 40 " + c[0], "bob", "work", ``, `["01-02T12:00 01-02T13:00:` + c[1] + `"]`},
		})
	}
}

// include_events and exclude_events compare whole names. An event on both lists is left out.
func TestFilters_Names(t *testing.T) {
	for config, want := range map[string]string{
		`"include_events":["one"]`:        " one:a",
		`"include_events":["one","two"]`:  " one:a two:b",
		`"include_events":["on"]`:         "",
		`"include_events":["ONE"]`:        "",
		`"include_events":[]`:             " one:a two:b c",
		`"exclude_events":["one"]`:        " two:b c",
		`"exclude_events":["seen","two"]`: " one:a",
		`"exclude_events":[]`:             " one:a two:b c",
		`"include_events":["one","two"],"exclude_events":["two","another"]`: " one:a",
		`"include_events":null,"exclude_events":null`:                       " one:a two:b c",
	} {
		w := newWorld(t)
		w.Run(t, w.calls(t), []ruletest.Row{
			{"§4.3.2 " + config, "bob", "create", exportTo("Files", `{"path":"f",`+config+`}`), `{"name":"x"}`},
			{"§4.3.2 " + config, "bob", "came one:a two:b c", `{}`, `null`},
			{"§4.3.2 " + config, "bob", "at 2026-01-02 13:00:30", ``, `null`},
			{"§4.3.2 " + config, "bob", "work", ``, `["01-02T12:00 01-02T13:00:` + want + `"]`},
		})
	}
}

// A change of filters takes effect with the next attempt of a run that is waiting.
func TestFilters_Changes(t *testing.T) {
	w := newWorld(t)
	w.Run(t, w.calls(t), []ruletest.Row{
		{"§4.3.1", "bob", "create => it", files(`,"filters":[{"key":"n","operator":"gt","value":1}]`), `{"name":"x"}`},
		{"§4.3.1", "bob", "came a", `{"n":1}`, `null`},
		{"§4.3.1", "bob", "came b", `{"n":2}`, `null`},
		{"§4.3.1", "bob", "fail", ``, `null`},
		{"§4.3.1", "bob", "at 2026-01-02 13:00:30", ``, `null`},
		{"§4.3.1 the first attempt fails", "bob", "work", ``, `[]`},
		{"§4.3.1", "bob", "change <it>", `{"filters":[{"key":"n","operator":"lt","value":2}]}`, `{"name":"x"}`},
		{"§4.3.1", "bob", "wait 5s", ``, `null`},
		{"§4.3.1 the second one", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a"]`},
		{"§4.3.5 one run", "bob", "runs <it>", ``, `{"results":[{"status":"Completed","records_completed":1}]}`},
	})
}
