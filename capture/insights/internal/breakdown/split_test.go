package breakdown

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/querytest"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// tallies is a query for the tests: the number of events by the value of a split, as a funnel of one
// step would count them.
type tallies struct{ split Split }

// tally is the number of events of a value.
type tally struct{ events int }

var talliesKind = scan.Kind{Name: "Tallies", Parse: func(n document.Node, p *port.Project) scan.Plan {
	return &tallies{ReadSplit(n.Get("breakdownFilter"), p, 2, "event", "person", "group", "hogql", "event_metadata", "cohort")}
}}

// Run returns the rows as value=number; the rest is Other, the place of a cohort is followed by its
// name.
func (q *tallies) Run(r *scan.Run) (*port.Result, error) {
	b := &scan.Binder{Run: r, To: querytest.Now.UnixMicro()}
	values := NewNumberer(b, &q.split)
	sums := NewSums(r, &q.split, values, 8, func() *tally { return &tally{} })
	err := b.ScanBound(port.Scan{To: b.To}, func(row *scan.Row) error {
		return sums.Add(values.Number(row), func(s *tally) { s.events++ })
	})
	if err = errors.Join(err, b.Err); err != nil {
		return nil, err
	}
	top, rest := sums.Ranked(func(a, b *tally) int { return cmp.Compare(b.events, a.events) }, func(to, from *tally) { to.events += from.events })
	if rest != nil {
		top = append(top, *rest)
	}
	var rows []string
	for _, g := range top {
		name := "Other"
		switch {
		case g.Other:
		case q.split.IsByCohort():
			name = fmt.Sprint(g.Value, q.split.Cohorts[g.Value].Name)
		case q.split.Kind == "":
			name = "all"
		default:
			name = strings.Join(values.List(g.Value), "|")
		}
		rows = append(rows, fmt.Sprintf("%s=%d", name, g.Sum.events))
	}
	return &port.Result{Results: strings.Join(rows, " ")}, nil
}

// talliesOf returns a query with a breakdownFilter of the given members.
func talliesOf(members string) string {
	return `{"kind": "Tallies", "breakdownFilter": {` + members + `}}`
}

// The rows of a split (§2.5.3): by their numbers, then by values; a missing value is empty. After the
// limit the rest is summed. Cohorts are not limited.
func TestSplit_Rows(t *testing.T) {
	t.Parallel()
	suite := breakdownSuite(t, talliesKind)
	for _, c := range []struct{ of, members, want string }{
		{"no breakdown", ``, "all=9"},
		{"null", `"breakdown": null`, "all=9"},
		{"an empty list", `"breakdown": []`, "all=9"},
		{"a property: missing, null and empty are one value", `"breakdown": "v"`, `=3 -0.5=1 10=1 20=1 [1,"b"]=1 text=1 true=1`},
		{"a limit", `"breakdown": "v", "breakdown_limit": 3`, `=3 -0.5=1 10=1 Other=4`},
		{"a limit of one value", `"breakdown": "v", "breakdown_limit": 1`, `=3 Other=6`},
		{"as many values as the limit", `"breakdown": "v", "breakdown_limit": 7`, `=3 -0.5=1 10=1 20=1 [1,"b"]=1 text=1 true=1`},
		{"one value less: a rest of one", `"breakdown": "v", "breakdown_limit": 6`, `=3 -0.5=1 10=1 20=1 [1,"b"]=1 text=1 Other=1`},
		{"two properties in the older form", `"breakdown": ["w", "u"]`, `|=4 |/?#/=1 |?a=1#=1 |https://s.io/a/=1 1|=1 z|=1`},
		{"two properties in the newer form", `"breakdowns": [{"property": "u"}, {"property": "w"}], "breakdown_limit": 2`, `|=4 |1=1 Other=4`},
		{"normalized: the empty value stays", `"breakdown": "u", "breakdown_normalize_url": true`, `=6 /=1 ?a=1=1 https://s.io/a=1`},
		{"normalized in the newer form", `"breakdowns": [{"property": "u", "normalize_url": true}]`, `=6 /=1 ?a=1=1 https://s.io/a=1`},
		{"persons", `"breakdown": "plan", "breakdown_type": "person"`, `=7 free=1 pro=1`},
		{"a column", `"breakdown": "event", "breakdown_type": "event_metadata"`, `y=6 x=3`},
		{"an expression", `"breakdown": "properties.v = 20", "breakdown_type": "hogql"`, `0=8 1=1`},
		{"a cohort", `"breakdown": 4, "breakdown_type": "cohort"`, `0Payers=1`},
		{"an actor counts for each of its cohorts", `"breakdown": [4, "all"], "breakdown_type": "cohort"`, `1all users=9 0Payers=1`},
		{"cohorts have no limit", `"breakdown": [0, 4, "all"], "breakdown_type": "cohort", "breakdown_limit": 1`, `0all users=9 2all users=9 1Payers=1`},
	} {
		if got := suite.Results(t, measured, talliesOf(c.members)); got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.of, c.members, got, c.want)
		}
	}
}

// The bytes of values decide, part by part: a separator does not join "a" and "b" to "ab".
func TestSplit_Order(t *testing.T) {
	t.Parallel()
	suite := breakdownSuite(t, talliesKind)
	events := querytest.Events(`[["x", "p", "2020-01-01T00:00:00Z", {"k": "a", "l": "z"}], ["x", "p", "2020-01-01T00:00:00Z", {"k": "a!", "l": "a"}], ["x", "p", "2020-01-01T00:00:00Z", {"k": "a", "l": ""}],
		["x", "p", "2020-01-01T00:00:00Z", {"k": "B", "l": "é"}], ["x", "p", "2020-01-01T00:00:00Z", {"k": "B", "l": "z"}], ["x", "p", "2020-01-01T00:00:00Z", {"k": "", "l": "aa"}]]`)
	const want = "|aa=1 B|z=1 B|é=1 a|=1 a|z=1 a!|a=1"
	if got := suite.Results(t, events, talliesOf(`"breakdowns": [{"property": "k"}, {"property": "l"}]`)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The faults of a split have the code and the place of §1.7.
func TestSplit_Faults(t *testing.T) {
	t.Parallel()
	at := func(name string) string { return "breakdownFilter__" + name }
	breakdownSuite(t, talliesKind).CheckFaults(t, []querytest.Fault{
		{"no values", talliesOf(`"breakdown": "a", "breakdown_limit": 0`), document.InvalidInput, at("breakdown_limit"), ""},
		{"1,000 values", talliesOf(`"breakdown": "a", "breakdown_limit": 1000`), "", "", ""},
		{"1,001 values", talliesOf(`"breakdown": "a", "breakdown_limit": 1001`), document.InvalidInput, at("breakdown_limit"), ""},
		{"bins", talliesOf(`"breakdown": "a", "breakdown_histogram_bin_count": 3`), document.NotSupported, at("breakdown_histogram_bin_count"), ""},
		{"bins in the newer form", talliesOf(`"breakdowns": [{"property": "a", "histogram_bin_count": 3}]`), document.NotSupported, at("breakdowns__0__histogram_bin_count"), ""},
		{"two properties", talliesOf(`"breakdown": ["a", "b"]`), "", "", ""},
		{"three properties", talliesOf(`"breakdown": ["a", "b", "c"]`), document.TooLarge, at("breakdown"), ""},
		{"three in the newer form", talliesOf(`"breakdowns": [{"property": "a"}, {"property": "b"}, {"property": "c"}]`), document.NotSupported, at("breakdowns__2"), "At most 2"},
		{"four in the newer form", talliesOf(`"breakdowns": [{"property": "a"}, {"property": "b"}, {"property": "c"}, {"property": "d"}]`), document.TooLarge, at("breakdowns"), ""},
		{"two types", talliesOf(`"breakdowns": [{"property": "a"}, {"property": "b", "type": "person"}]`), document.NotSupported, at("breakdowns__1__type"), "same type"},
		{"the type event is the default", talliesOf(`"breakdowns": [{"property": "a"}, {"property": "b", "type": "event"}]`), "", "", ""},
		{"a cohort in the newer form", talliesOf(`"breakdowns": [{"property": 4, "type": "cohort"}]`), document.NotSupported, at("breakdowns__0__type"), "not be cohorts"},
		{"a type that is not permitted here", talliesOf(`"breakdown": "$entry_pathname", "breakdown_type": "session"`), document.InvalidChoice, at("breakdown_type"), "session"},
		{"a property that is a number", talliesOf(`"breakdown": 5`), document.InvalidInput, at("breakdown"), ""},
		{"the second property is null", talliesOf(`"breakdown": ["a", null]`), document.Required, at("breakdown__1"), ""},
		{"a group without an index", talliesOf(`"breakdown": "a", "breakdown_type": "group"`), document.Required, at("breakdown_group_type_index"), ""},
		{"an index beyond", talliesOf(`"breakdowns": [{"property": "a", "type": "group", "group_type_index": 5}]`), document.InvalidInput, at("breakdowns__0__group_type_index"), ""},
		{"an unknown cohort", talliesOf(`"breakdown": [4, 7], "breakdown_type": "cohort"`), document.InvalidInput, at("breakdown__1"), "7"},
		{"64 cohorts", talliesOf(`"breakdown": [0` + strings.Repeat(", 4", 63) + `], "breakdown_type": "cohort"`), "", "", ""},
		{"65 cohorts", talliesOf(`"breakdown": [0` + strings.Repeat(", 4", 64) + `], "breakdown_type": "cohort"`), document.TooLarge, at("breakdown"), "64"},
	})
}

// Results name a cohort by its id, and all persons by 0 or "all".
func TestSplit_Cohort(t *testing.T) {
	t.Parallel()
	plan, fault := breakdownSuite(t, talliesKind).Parse(t, talliesOf(`"breakdown": [5, "all", 4], "breakdown_type": "cohort"`))
	if fault != nil {
		t.Fatal(fault)
	}
	s := plan.(*tallies).split
	for _, c := range []struct {
		id   []string
		want int
	}{{[]string{"5"}, 0}, {[]string{"all"}, 1}, {[]string{"0"}, 1}, {[]string{"4"}, 2}, {[]string{"6"}, -1}, {[]string{"Payers"}, -1}, {nil, -1}, {[]string{"4", "5"}, -1}} {
		if got := s.Cohort(c.id); got != c.want {
			t.Errorf("%q: got %d, want %d", c.id, got, c.want)
		}
	}
}

// A split has at most 100,000 values (§5.4).
func TestSplit_MaxValues(t *testing.T) {
	t.Parallel()
	b := &scan.Binder{Run: scan.NewRun(t.Context(), nil, &port.Project{}, port.Options{Now: querytest.Now})}
	// Constant parts, so that no event is needed for a value.
	text := ""
	s := &Split{Kind: "event", parts: []func(*scan.Binder) scan.Getter{func(*scan.Binder) scan.Getter { return func(*scan.Row) string { return text } }}}
	n := NewNumberer(b, s)
	// The empty value is the first of them.
	for i := range MaxValues - 1 {
		text = fmt.Sprint(i)
		if got := n.Number(nil); got != uint32(i)+1 {
			t.Fatalf("value %d has number %d", i, got)
		}
	}
	if b.Err != nil {
		t.Fatalf("100,000 values: %v", b.Err)
	}
	text = `"more"`
	n.Number(nil)
	var fault *port.Error
	if !errors.As(b.Err, &fault) || fault.Code != document.TooLarge || fault.Attr != "query__breakdownFilter" {
		t.Errorf("one value more: got %v", b.Err)
	}
	if !slices.Equal(n.List(0), []string{""}) {
		t.Errorf("the first value is %q, want the empty one", n.List(0))
	}
}
