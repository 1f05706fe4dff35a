package breakdown

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/querytest"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags"
)

// readings is a query for the tests: the values of its breakdown that each event counts for, as the
// event's distinct id and the values, which are joined by "+". Bins are [0,10), [10,20) and [20,20.01).
type readings struct{ breakdown *Breakdown }

var readingsKind = scan.Kind{Name: "Readings", Parse: func(n document.Node, p *port.Project) scan.Plan {
	return &readings{Read(n.Get("breakdownFilter"), p, n.Get("trendsFilter"))}
}}

func (q *readings) Run(r *scan.Run) (*port.Result, error) {
	b := &scan.Binder{Run: r, To: querytest.Now.UnixMicro()}
	values := q.breakdown.Bind(b)
	if values == nil {
		return &port.Result{Results: "none"}, nil
	}
	b.Needs.Columns |= port.DistinctIDs
	bins := make([]Bins, 3)
	for i := range bins {
		bins[i] = Bins{Edges: []float64{0, 10, 20, 20.01}, Texts: []string{"[0,10]", "[10,20]", "[20,20.01]"}}
	}
	var found []string
	err := b.ScanBound(port.Scan{To: b.To}, func(row *scan.Row) error {
		keys := strings.Join(values.ValueKeys(row, bins), "+")
		found = append(found, row.Batch.DistinctID[row.Index]+"="+strings.ReplaceAll(keys, "\x00", "|"))
		return nil
	})
	return &port.Result{Results: strings.ReplaceAll(strings.Join(found, " "), NullValue, "(null)")}, errors.Join(err, b.Err)
}

// breakdownSuite runs a kind in a project with the cohorts 4, of the plan pro, and 5, of nobody.
func breakdownSuite(t *testing.T, kind scan.Kind) *querytest.Suite {
	t.Helper()
	d, err := flags.ParseDefinitions([]byte(`{"flags": [], "cohorts": {"4": {"type": "AND", "values": [{"type": "person", "key": "plan", "value": ["pro"]}]}, "5": {"type": "AND", "values": [{"type": "person", "key": "plan", "value": ["none"]}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for id, name := range map[int64]string{4: "Payers", 5: "Nobody"} {
		c := d.Cohorts[id]
		c.Name = name
		d.Cohorts[id] = c
	}
	return &querytest.Suite{Kinds: []scan.Kind{kind}, Project: port.Project{Definitions: &d, GroupTypes: []string{"company"}}}
}

// readingsOf returns a query with a breakdownFilter of the given members.
func readingsOf(members string) string {
	return `{"kind": "Readings", "breakdownFilter": {` + members + `}}`
}

// measured are events with a property v of each type: a to i.
var measured = querytest.Events(`[
	["x", "a", "2020-01-01T00:00:00Z", {"v": "text", "u": "https://s.io/a/", "$group_0": "acme"}, {"plan": "pro"}],
	["x", "b", "2020-01-02T00:00:00Z", {"v": 10.0, "u": "/?#/"}, {"plan": "free"}],
	["x", "c", "2020-01-03T00:00:00Z", {"v": true, "u": "?a=1#"}, {"plan": ""}],
	["y", "d", "2020-01-04T00:00:00Z", {"v": null}, {}],
	["y", "e", "2020-01-05T00:00:00Z", {"v": "", "u": ""}],
	["y", "f", "2020-01-06T00:00:00Z", {}],
	["y", "g", "2020-01-07T00:00:00Z", {"v": [1, "b"], "w": 1}],
	["y", "h", "2020-01-08T00:00:00Z", {"v": "20", "w": "z"}],
	["y", "i", "2020-01-09T00:00:00Z", {"v": -0.5}]]`)

// The value that an event counts for (§2.4.4): text of the property; missing, null and "" are one
// value.
func TestBreakdown_Values(t *testing.T) {
	t.Parallel()
	suite := breakdownSuite(t, readingsKind)
	for _, c := range []struct{ of, members, want string }{
		{"a property", `"breakdown": "v"`, `a=text b=10 c=true d=(null) e=(null) f=(null) g=[1,"b"] h=20 i=-0.5`},
		{"a list of one property", `"breakdown": ["v"]`, `a=text b=10 c=true d=(null) e=(null) f=(null) g=[1,"b"] h=20 i=-0.5`},
		{"the newer form", `"breakdowns": [{"property": "v"}]`, `a=text b=10 c=true d=(null) e=(null) f=(null) g=[1,"b"] h=20 i=-0.5`},
		{"it wins over the older one", `"breakdown": "u", "breakdowns": [{"property": "v"}]`, `a=text b=10 c=true d=(null) e=(null) f=(null) g=[1,"b"] h=20 i=-0.5`},
		{"an empty list does not", `"breakdown": "w", "breakdowns": []`, `a=(null) b=(null) c=(null) d=(null) e=(null) f=(null) g=1 h=z i=(null)`},
		{"no property", `"breakdown_type": "event"`, "none"},
		{"null", `"breakdown": null`, "none"},
		{"two properties in their order", `"breakdowns": [{"property": "w"}, {"property": "v"}]`, `a=(null)|text b=(null)|10 c=(null)|true d=(null)|(null) e=(null)|(null) f=(null)|(null) g=1|[1,"b"] h=z|20 i=(null)|-0.5`},
		{"URLs without normalizing", `"breakdown": "u"`, `a=https://s.io/a/ b=/?#/ c=?a=1# d=(null) e=(null) f=(null) g=(null) h=(null) i=(null)`},
		{"normalized: no /, ? and # at the end; nothing left is /", `"breakdown": "u", "breakdown_normalize_url": true`, `a=https://s.io/a b=/ c=?a=1 d=(null) e=(null) f=(null) g=(null) h=(null) i=(null)`},
		{"normalized in the newer form", `"breakdowns": [{"property": "u", "normalize_url": true}]`, `a=https://s.io/a b=/ c=?a=1 d=(null) e=(null) f=(null) g=(null) h=(null) i=(null)`},
		{"bins: the first that holds the number", `"breakdown": "v", "breakdown_histogram_bin_count": 3`, `a=(null) b=[10,20] c=(null) d=(null) e=(null) f=(null) g=(null) h=[20,20.01] i=(null)`},
		{"bins of one of two properties", `"breakdowns": [{"property": "w"}, {"property": "v", "histogram_bin_count": 3}]`, `a=(null)|(null) b=(null)|[10,20] c=(null)|(null) d=(null)|(null) e=(null)|(null) f=(null)|(null) g=1|(null) h=z|[20,20.01] i=(null)|(null)`},
		{"a property of persons", `"breakdown": "plan", "breakdown_type": "person"`, `a=pro b=free c=(null) d=(null) e=(null) f=(null) g=(null) h=(null) i=(null)`},
		{"a column", `"breakdown": "event", "breakdown_type": "event_metadata"`, `a=x b=x c=x d=y e=y f=y g=y h=y i=y`},
		{"the column of a group", `"breakdown": "$group_0", "breakdown_type": "event_metadata"`, `a=acme b=(null) c=(null) d=(null) e=(null) f=(null) g=(null) h=(null) i=(null)`},
		{"an expression", `"breakdown": "properties.v > 5", "breakdown_type": "hogql"`, `a=0 b=1 c=0 d=0 e=0 f=0 g=0 h=1 i=0`},
		{"a cohort", `"breakdown": 4, "breakdown_type": "cohort"`, `a=0 b= c= d= e= f= g= h= i=`},
		{"cohorts in the order given", `"breakdown": [5, "all", 4, 0], "breakdown_type": "cohort"`, `a=1+2+3 b=1+3 c=1+3 d=1+3 e=1+3 f=1+3 g=1+3 h=1+3 i=1+3`},
		{"no cohorts", `"breakdown": [], "breakdown_type": "cohort"`, `a= b= c= d= e= f= g= h= i=`},
	} {
		if got := suite.Results(t, measured, readingsOf(c.members)); got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.of, c.members, got, c.want)
		}
	}
	older := `{"kind": "Readings", "trendsFilter": {"breakdown_histogram_bin_count": 3}, "breakdownFilter": {"breakdown": "v"`
	for query, want := range map[string]int{older + `}}`: 3, older + `, "breakdown_histogram_bin_count": 7}}`: 7} {
		plan, fault := suite.Parse(t, query)
		if fault != nil {
			t.Fatal(fault)
		}
		if b := plan.(*readings).breakdown; b.Parts[0].Bins != want || !b.HasBins() {
			t.Errorf("the number of bins in trendsFilter: got %d, want %d", b.Parts[0].Bins, want)
		}
	}
}

// A breakdown value of a query about actors is in the form in which results contain it (§2.9.3).
func TestBreakdown_ReadValue(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		`{"v": "a"}`: "a", `{"v": ["a", "b"]}`: "a,b", `{"v": 4}`: "4", `{"v": ["all"]}`: "all", `{"v": true}`: "true", `{"v": ""}`: "", `{"v": "[1,2]"}`: "[1,2]",
		`{"v": null}`: "any", `{}`: "any", `{"v": []}`: "any",
	} {
		n, _ := document.Decode(json.RawMessage(query), "query")
		texts, anyValue := ReadValue(n.Get("v"))
		got := strings.Join(texts, ",")
		if anyValue {
			got = "any"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
}

// Numbers are given to values in the order in which they occur; a series has at most so many (§5.4),
// and each counts against the memory of the query.
func TestValueIndex_Bounds(t *testing.T) {
	t.Parallel()
	var reserved int64
	x := &ValueIndex{Limit: 3, Reserve: func(n int64) error { reserved += n; return nil }}
	x.AddAll([]string{"b", "a\x00" + NullValue, "b"})
	for _, c := range []struct {
		key  string
		want int
	}{{"b", 0}, {"a\x00" + NullValue, 1}, {"c", 2}, {"c", 2}, {"b", 0}} {
		if got, err := x.IndexOf(c.key); got != c.want || err != nil {
			t.Errorf("%q: got %d, %v; want %d", c.key, got, err, c.want)
		}
	}
	if before := reserved; before < int64(len("b"+"a"+NullValue+"c")) || len(x.InRange) != 3 {
		t.Errorf("reserved %d bytes for %d values", before, len(x.InRange))
	}
	var fault *port.Error
	if _, err := x.IndexOf("d"); !errors.As(err, &fault) || fault.Code != document.TooLarge || !strings.Contains(fault.Detail, "More than 3 breakdown values: narrow the range or filter") {
		t.Errorf("one value more: got %v", err)
	}
	if i, err := x.IndexOf("c"); i != 2 || err != nil {
		t.Errorf("a known value after that: got %d, %v", i, err)
	}
	for i, want := range []int{0, 1, 0} {
		if got := x.Values[i].Rank(); got != want {
			t.Errorf("the rank of %q: got %d, want %d", x.Values[i].Texts, got, want)
		}
	}
	full := errors.New("full")
	if _, err := (&ValueIndex{Limit: 1, Reserve: func(int64) error { return full }}).IndexOf("a"); !errors.Is(err, full) {
		t.Errorf("no memory: got %v", err)
	}
}
