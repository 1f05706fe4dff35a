package charts

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// now is noon of 5 January 2026.
var now = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

func draw(query, results string) Figure {
	return Draw(Question{ID: "f", Title: "Visits", Query: []byte(query), Results: []byte(results), Now: now})
}

// has fails if the picture does not contain the expected strings. Tests compute the coordinates
// by hand.
func has(t *testing.T, f Figure, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(string(f.Picture), want) {
			t.Errorf("no %s in\n%s", want, strings.ReplaceAll(string(f.Picture), "><", ">\n<"))
		}
	}
}

// trend returns one row of trend results, with the given number of days from 1 January 2026.
func trend(label, data string, days int) string {
	var names []string
	for i := range days {
		names = append(names, fmt.Sprintf(`"2026-01-%02d"`, i+1))
	}
	list := "[" + strings.Join(names, ",") + "]"
	return fmt.Sprintf(`{"label":%q,"data":%s,"days":%s,"labels":%s,"count":1}`, label, data, list, list)
}

const lineQuery = `{"kind":"TrendsQuery","trendsFilter":{"display":"ActionsLineGraph"}}`

// The plot is 640 wide from 60 and 200 high from 220 upwards. Five points are 160 apart. Up to 10
// the step is 5, so that one unit is 20 high: 10 is at 20, 5 at 120, 0 at 220. The fifth day is
// not over at noon: its segment is dotted (§5.1).
func TestDraw_Lines(t *testing.T) {
	f := draw(lineQuery, "["+trend("see", "[0,5,10,5,2]", 5)+","+trend("buy", "[10,10,10,10,10]", 5)+"]")
	has(t, f,
		`<polyline class="line c0" points="60,220 220,120 380,20 540,120"/>`,
		`<polyline class="line c0" stroke-dasharray="1 5" points="540,120 700,180"/>`,
		`<polyline class="line c1" stroke-dasharray="8 4" points="60,20 220,20 380,20 540,20"/>`,
		`<circle class="c0" cx="380" cy="20" r="3.5"><title>2026-01-03: 10, see</title></circle>`,
		`<text class="tick" text-anchor="end" x="54" y="124">5</text>`,
		`<text class="tick" text-anchor="middle" x="380" y="238">2026-01-03</text>`,
		`role="img"`, `aria-labelledby="f-t f-d"`, `<title id="f-t">Visits</title>`,
		`<desc id="f-d">Lines: 2 series of 5 points, from 2026-01-01 to 2026-01-05. see: least 0, most 10, last 2. buy: least 10, most 10, last 10.</desc>`,
	)
	if len(f.Tables) != 1 || fmt.Sprint(f.Tables[0].Head) != "[ see buy]" || len(f.Tables[0].Rows) != 5 || f.Tables[0].Rows[2][1].Text != "10" {
		t.Errorf("the table is %+v", f.Tables)
	}
	if len(f.Notes) != 1 || f.Notes[0] != "The last point is not over yet." {
		t.Errorf("notes %q", f.Notes)
	}
}

// A previous period has its own class and is dashed in the last bucket, which is over. A single
// point is in the middle. A gap (null in JSON) interrupts the line.
func TestDraw_LinesOfParts(t *testing.T) {
	previous := strings.Replace(trend("see", "[4,4,4,4,4]", 5), `"count"`, `"compare":true,"compare_label":"previous","count"`, 1)
	f := draw(lineQuery, "["+trend("see", "[0,4,null,4,4]", 5)+","+previous+"]")
	has(t, f, // the steps are 1 up to 4: 50 high each
		`<polyline class="line c0" points="60,220 220,20"/>`,
		`<polyline class="line c0" stroke-dasharray="1 5" points="540,20 700,20"/>`,
		`<polyline class="line c1 previous" stroke-dasharray="8 4" points="60,20 220,20 380,20 540,20 700,20"/>`,
		`>see (previous)</text>`)
	f = draw(lineQuery, "["+trend("see", "[3]", 1)+"]")
	has(t, f, `<circle class="c0" cx="380" cy="20" r="3.5">`)
	f = draw(lineQuery, "["+trend("see", "[0,0]", 2)+"]")
	has(t, f, `points="60,220 700,220"`, `>1</text>`)
}

// Two stacked series of two points: 6 and 4 reach 10, at 20; 6 is at 100.
func TestDraw_Areas(t *testing.T) {
	f := draw(`{"kind":"TrendsQuery","trendsFilter":{"display":"ActionsAreaGraph"}}`, "["+trend("a", "[6,0]", 2)+","+trend("b", "[4,10]", 2)+"]")
	has(t, f,
		`<polygon class="fill c0" points="60,100 700,220 700,220 60,220"/>`,
		`<polygon class="fill" fill="url(#f-p1)" points="60,20 700,20 700,220 60,100"/>`,
		`<pattern id="f-p1"`)
}

// Slots are 320 wide and bars use eight tenths of them: 256 from 92 and from 412.
func TestDraw_Bars(t *testing.T) {
	rows := "[" + trend("a", "[6,2]", 2) + "," + trend("b", "[4,2]", 2) + "]"
	f := draw(`{"kind":"TrendsQuery","trendsFilter":{"display":"ActionsBar"}}`, rows)
	has(t, f, `<rect class="fill c0" x="92" y="100" width="256" height="120">`, `<rect class="fill" fill="url(#f-p1)" x="92" y="20" width="256" height="80">`,
		`x="412" y="140" width="256" height="40"><title>2026-01-02: 2, b</title>`)
	// Side by side: 128 each. Up to 6 the steps are 2, so that one unit is 200/6 high.
	f = draw(`{"kind":"TrendsQuery","trendsFilter":{"display":"ActionsUnstackedBar"}}`, rows)
	has(t, f, `<rect class="fill c0" x="92" y="20" width="128" height="200">`, `x="220" y="86.7" width="128" height="133.3"`)
}

// Dormant people are below the axis (§2.7, §5.1): from −5 to 5 in steps of 5, 20 per unit, 0 at
// 120.
func TestDraw_Lifecycle(t *testing.T) {
	row := func(status, data string) string {
		return strings.Replace(trend("see - "+status, data, 1), `{`, `{"status":"`+status+`",`, 1)
	}
	f := draw(`{"kind":"LifecycleQuery"}`, "["+row("new", "[3]")+","+row("returning", "[2]")+","+row("resurrecting", "[0]")+","+row("dormant", "[-5]")+"]")
	has(t, f, // the slot is 640 wide, its bar 512 from 124
		`<rect class="fill c0" x="124" y="60" width="512" height="60">`,
		`fill="url(#f-p1)" x="124" y="20" width="512" height="40">`,
		`fill="url(#f-p3)" x="124" y="120" width="512" height="100"><title>2026-01-01: −5, dormant</title>`)
	if got := f.Tables[0].Rows[0][4].Text; got != "−5" {
		t.Errorf("dormant in the table is %q", got)
	}
}

// The longest bar is 360 wide from 230; half of it is 180.
func TestDraw_Values(t *testing.T) {
	const rows = `[{"label":"Chrome","aggregated_value":60,"data":[]},{"label":"$$_posthog_breakdown_null_$$","aggregated_value":30,"data":[]},{"label":"$$_posthog_breakdown_other_$$","aggregated_value":10}]`
	f := draw(`{"kind":"TrendsQuery","trendsFilter":{"display":"ActionsPie"}}`, rows)
	has(t, f, `x="230" y="8" width="360" height="18"`, `>60 (60%)</text>`, `x="230" y="36" width="180" height="18"`, `>(none)</text>`, `>(other)</text>`, `>10 (10%)</text>`)
	f = draw(`{"kind":"TrendsQuery","trendsFilter":{"display":"ActionsBarValue","aggregationAxisPrefix":"€ "}}`, `[{"label":"a","aggregated_value":-1},{"label":"b","aggregated_value":2}]`)
	// From −1 to 2 one unit is 120: 0 is at 350.
	has(t, f, `x="230" y="8" width="120"`, `x="350" y="36" width="240"`, `>€ −1</text>`)
	f = draw(`{"kind":"TrendsQuery","trendsFilter":{"display":"ActionsTable"}}`, rows)
	if f.Picture != "" || len(f.Tables) != 1 || !f.Tables[0].Plain || f.Tables[0].Rows[0][1].Text != "60" {
		t.Errorf("a table is %+v", f)
	}
}

func TestDraw_BigNumber(t *testing.T) {
	const query = `{"kind":"TrendsQuery","trendsFilter":{"display":"BoldNumber"}}`
	has(t, draw(query, `[{"label":"a","aggregated_value":1234567,"data":[]}]`), `>1,234,567</text>`)
	f := draw(query, `[{"label":"a","aggregated_value":45,"compare_label":"current"},{"label":"a","aggregated_value":60,"compare_label":"previous"}]`)
	has(t, f, `>45</text>`, `>−25%, before: 60</text>`)
	// A change from 0 has no percentage (§5.1).
	has(t, draw(query, `[{"aggregated_value":45},{"aggregated_value":0,"compare_label":"previous"}]`), `>before: 0</text>`)
	has(t, draw(query, `[{"aggregated_value":null}]`), `>no number</text>`)
}

// 100 people begin, 40 and then 10 of them continue: 40 % and 10 % of the first step, 25 % of the
// step before.
func TestDraw_Funnel(t *testing.T) {
	const steps = `[{"name":"see","count":100},{"name":"add","count":40,"average_conversion_time":90,"median_conversion_time":60},{"name":"buy","count":10,"average_conversion_time":7200,"median_conversion_time":null}]`
	f := draw(`{"kind":"FunnelsQuery"}`, steps)
	has(t, f, `x="230" y="8" width="360"`, `>1. see</text>`, `>100</text>`, `width="144"`, `>40, 40% of the first</text>`, `width="36"`, `>10, 10% of the first</text>`)
	has(t, draw(`{"kind":"FunnelsQuery","funnelsFilter":{"funnelStepReference":"previous"}}`, steps), `>10, 25% of those before</text>`)
	if got, want := fmt.Sprint(f.Tables[0].Rows), "[[{1. see false 0} {100 true 0} { false 0} { false 0} { false 0} { false 0} { false 0}]"+
		" [{2. add false 0} {40 true 0} {40% true 0} {40% true 0} {60 true 0} {1.5 min true 0} {1 min true 0}]"+
		" [{3. buy false 0} {10 true 0} {10% true 0} {25% true 0} {30 true 0} {2 h true 0} {– true 0}]]"; got != want {
		t.Errorf("the table is\n%s, want\n%s", got, want)
	}
	// With a breakdown (§2.5.3), the bars of the values are next to each other in each step.
	f = draw(`{"kind":"FunnelsQuery"}`, `[[{"name":"see","count":4,"breakdown":["Chrome"],"breakdown_value":["Chrome"]},{"name":"buy","count":2,"breakdown":["Chrome"]}],[{"name":"see","count":2,"breakdown":[""]},{"name":"buy","count":0,"breakdown":[""]}]]`)
	has(t, f, `>1. Chrome</text>`, `>1. (none)</text>`, `>2, 50% of the first</text>`, `fill="url(#f-p1)" x="230" y="36" width="180"`)
}

func TestDraw_FunnelViews(t *testing.T) {
	f := draw(`{"kind":"FunnelsQuery","funnelsFilter":{"funnelVizType":"trends"}}`, `[{"count":2,"data":[50,100],"days":["2026-01-01","2026-01-02"],"labels":["1-Jan","2-Jan"]}]`)
	has(t, f, `points="60,120 700,20"`, `>100%</text>`, `>converted</text>`)
	// insights.md §4: two bins of 40 290 s from 2 220 s, on average 29 540 s: 0.6 h, 11.8 h, 23 h and 8.2 h.
	f = draw(`{"kind":"FunnelsQuery","funnelsFilter":{"funnelVizType":"time_to_convert"}}`, `{"bins":[[2220,2],[42510,0],[82800,1]],"average_conversion_time":29540}`)
	has(t, f, `>37 min</text>`, `>11.8 h</text>`, `>23 h</text>`, `height="200"`, `height="100"`)
	if len(f.Notes) != 1 || f.Notes[0] != "On average it took 8.2 h." {
		t.Errorf("notes %q", f.Notes)
	}
}

// 4 people began on 3 January, and 2 and 1 of them returned: one half is shade 5. The 5th is not
// over at its noon, the 6th has not begun (§5.1). After the last row no people were counted
// (§2.6).
func TestDraw_Retention(t *testing.T) {
	values := func(n ...int) string {
		var b strings.Builder
		for i, v := range n {
			fmt.Fprintf(&b, `,{"count":%d,"label":"Day %d"}`, v, i)
		}
		return b.String()[1:]
	}
	row := func(day int, n ...int) string {
		return fmt.Sprintf(`{"label":"Day","date":"2026-01-%02dT00:00:00Z","values":[%s]}`, day, values(n...))
	}
	const query = `{"kind":"RetentionQuery","retentionFilter":{"period":"Day"}}`
	f := draw(query, "["+row(3, 4, 2, 1, 0)+","+row(4, 0, 0, 0, 0)+","+row(5, 1, 0, 0, 0)+","+row(6, 0, 0, 0, 0)+"]")
	if len(f.Tables) != 2 || !f.Tables[0].Plain || f.Tables[1].Plain {
		t.Fatalf("tables %+v", f.Tables)
	}
	if got, want := fmt.Sprint(f.Tables[0].Rows), "[[{2026-01-03 false 0} {4 true 0} {100% true 10} {50% true 5} {25%* true 3} { false 0}]"+
		" [{2026-01-04 false 0} {0 true 0} {– true 0} {–* true 0} { false 0} { false 0}]"+
		" [{2026-01-05 false 0} {1 true 0} {100%* true 10} { false 0} { false 0} { false 0}]"+
		" [{2026-01-06 false 0} {0 true 0} { false 0} { false 0} { false 0} { false 0}]]"; got != want {
		t.Errorf("rows\n%s, want\n%s", got, want)
	}
	if got := fmt.Sprint(f.Tables[1].Rows[0]); got != "[{2026-01-03 false 0} {4 true 0} {2 true 0} {1 true 0} {0 true 0}]" {
		t.Errorf("numbers %s", got)
	}
	if f = draw(query, "["+row(1, 2, 2)+"]"); f.Tables[0].Rows[0][3].Text != "" || f.Tables[0].Rows[0][2].Text != "100%" {
		t.Errorf("after the range: %+v", f.Tables[0].Rows)
	}
}

func TestDraw_StickinessAndRows(t *testing.T) {
	has(t, draw(`{"kind":"StickinessQuery"}`, `[{"label":"see","data":[2,1],"days":[1,2],"labels":["1 day","2 days"],"count":3}]`), `points="60,20 700,120"`, `>2 days</text>`)
	f := Draw(Question{
		ID: "f", Query: []byte(`{"kind":"HogQLQuery"}`), Columns: []byte(`["event","n","who","all"]`), More: true, Now: now,
		Results: []byte(`[["see",1234.5,{"display_name":"ann","id":1},[1,"a"]],[null,true,{"x":1},1e999]]`),
	})
	if got, want := fmt.Sprint(f.Tables[0].Rows), `[[{see false 0} {1,234.5 true 0} {ann false 0} {1::a false 0}] [{ false 0} {true false 0} {{"x":1} false 0} {1e999 false 0}]]`; got != want {
		t.Errorf("rows\n%s, want\n%s", got, want)
	}
	if len(f.Notes) != 1 || f.Picture != "" || !f.Tables[0].Plain {
		t.Errorf("a list is %+v", f)
	}
}

// If a result cannot be drawn, the figure has a note with the reason.
func TestDraw_Words(t *testing.T) {
	for _, tt := range []struct{ query, results, want string }{
		{lineQuery, `[]`, "There is nothing here yet."},
		{`{"kind":"EventsQuery"}`, `[]`, "There is nothing here yet."},
		{`{"kind":"RetentionQuery"}`, `[]`, "There is nothing here yet."},
		{`{"kind":"PathsQuery"}`, `[]`, "There is no picture for this kind of question."},
		{`nonsense`, `[]`, "There is no picture for this kind of question."},
		{lineQuery, `{"a":1}`, "This answer has a form that there is no picture for."},
		{`{"kind":"TrendsQuery","trendsFilter":{"display":"BoxPlot"}}`, `[]`, "This answer has a form that there is no picture for."},
		{`{"kind":"HogQLQuery"}`, `[1]`, "This answer has a form that there is no picture for."},
		{`{"kind":"FunnelsQuery"}`, `3`, "This answer has a form that there is no picture for."},
		{lineQuery, `[` + strings.Repeat(" ", maxResult) + `]`, "There is too much in this answer for a page. As JSON it is complete."},
	} {
		if f := draw(tt.query, tt.results); len(f.Notes) != 1 || f.Notes[0] != tt.want || f.Picture != "" || len(f.Tables) != 0 {
			t.Errorf("%s of %.40s gives %+v, want %q", tt.query, tt.results, f, tt.want)
		}
	}
}

// wellFormed parses the picture as XML and returns the names of its elements and attributes.
func wellFormed(t *testing.T, f Figure) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for d := xml.NewDecoder(strings.NewReader(string(f.Picture))); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatalf("%v in %.2000s", err, f.Picture)
		}
		if e, ok := token.(xml.StartElement); ok {
			names[e.Name.Local] = true
			for _, a := range e.Attr {
				names["@"+a.Name.Local] = true
			}
		}
	}
}
