package charts

import (
	"encoding/json"
	"fmt"
	"html/template"
	"strings"
	"testing"
)

// hostile are texts that would break out of their element without escaping.
var hostile = []string{
	`<script>alert(1)</script>`, `</title></svg><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onload='alert(1)`,
	`<svg onload=alert(1)>`, `&lt;script&gt;`, `]]><script>`, `<!--`, `url(javascript:alert(1))`, "\x00\x01\u202Etxt\u2066", "a\nb\tc", `</style>`, `{{.}}`,
	strings.Repeat("long<", 3_000),
}

// allowed are the elements and attributes in pictures.
var allowed = map[string]bool{
	"svg": true, "title": true, "desc": true, "line": true, "text": true, "rect": true, "circle": true, "path": true, "polyline": true, "polygon": true, "defs": true, "pattern": true,
	"@class": true, "@role": true, "@viewBox": true, "@aria-labelledby": true, "@id": true, "@x": true, "@y": true, "@x1": true, "@y1": true, "@x2": true, "@y2": true, "@cx": true, "@cy": true, "@r": true,
	"@d": true, "@points": true, "@width": true, "@height": true, "@text-anchor": true, "@fill": true, "@stroke-dasharray": true, "@patternUnits": true,
}

// answers returns results of each kind, by query, with the text in each position that may have
// one.
func answers(text string) map[string]string {
	raw, _ := json.Marshal(text)
	fill := func(s string) string { return strings.ReplaceAll(s, "§", string(raw)) }
	out := map[string]string{}
	for display := range displays {
		format := fmt.Sprintf(`"trendsFilter":{"display":%q,"aggregationAxisPrefix":§,"aggregationAxisPostfix":§,"aggregationAxisFormat":§}`, display)
		out[fill(`{"kind":"TrendsQuery","interval":§,`+format+`}`)] = fill(`[{"label":§,"data":[1,2],"days":[§,§],"labels":[§,§],"aggregated_value":3,"breakdown_value":[§,§],"compare_label":§},{"label":§,"data":[-1],"days":[§],"labels":[§],"aggregated_value":3}]`)
	}
	for kind, results := range map[string]string{
		`{"kind":"FunnelsQuery"}`: `[[{"name":§,"custom_name":§,"action_id":§,"count":2,"breakdown":[§],"breakdown_value":[§]},{"name":§,"count":1}]]`,
		`{"kind":"FunnelsQuery","funnelsFilter":{"funnelVizType":"trends"}}`:          `[{"data":[1],"days":[§],"labels":[§],"breakdown_value":[§]}]`,
		`{"kind":"FunnelsQuery","funnelsFilter":{"funnelVizType":"time_to_convert"}}`: `{"bins":[[§,§],[1,2]],"average_conversion_time":§}`,
		`{"kind":"RetentionQuery","retentionFilter":{"period":§}}`:                    `[{"label":§,"date":§,"breakdown_value":§,"values":[{"count":1,"label":§}]}]`,
		`{"kind":"LifecycleQuery"}`:  `[{"status":§,"label":§,"data":[1],"labels":[§],"days":[§]}]`,
		`{"kind":"StickinessQuery"}`: `[{"label":§,"data":[1],"labels":[§],"days":[§]}]`,
		`{"kind":"EventsQuery"}`:     `[[§,{"display_name":§},{§:§},[§]]]`,
	} {
		out[fill(kind)] = fill(results)
	}
	return out
}

// Names of events, people and queries are escaped in pictures and limited in length.
func TestDraw_TextsStayTexts(t *testing.T) {
	for _, text := range hostile {
		columns, _ := json.Marshal([]string{text, text, text, text})
		for query, results := range answers(text) {
			f := Draw(Question{ID: "f", Title: text, Query: []byte(query), Results: []byte(results), Columns: columns, Now: now})
			if f.Picture == "" && len(f.Tables) == 0 {
				t.Errorf("%.200s shows nothing but %q", query, f.Notes)
			}
			for name := range wellFormed(t, f) {
				if !allowed[name] {
					t.Errorf("%.200s has %s", query, name)
				}
			}
			if len(f.Picture) > 20_000 || strings.ContainsAny(string(f.Picture), "\x00\x01\u202E\u2066\n") {
				t.Errorf("%.200s: %d bytes, %.500s", query, len(f.Picture), f.Picture)
			}
			for _, table := range f.Tables {
				for _, row := range table.Rows {
					for _, cell := range row {
						if len([]rune(cell.Text)) > maxCell+40 {
							t.Errorf("%.200s has a cell of %d bytes", query, len(cell.Text))
						}
					}
				}
			}
		}
	}
}

// Pictures of extreme numbers have valid coordinates and limited sizes.
func TestDraw_NumbersStayDrawable(t *testing.T) {
	var many, long strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&many, `,{"label":"s%d","data":[%d,1],"days":["2026-01-01","2026-01-02"],"labels":["a","b"],"aggregated_value":%d}`, i, i, i)
		fmt.Fprintf(&long, ",%d", i*i%977)
	}
	zeros := strings.TrimSuffix(strings.Repeat("0,", 10_000), ",")
	rows := map[string]string{
		"10,000 series":  "[" + many.String()[1:] + "]",
		"10,000 points":  `[{"label":"a","data":[` + long.String()[1:] + `]},{"label":"b","data":[` + zeros + `]}]`,
		"gaps":           `[{"label":"a","data":[null,null,1,null],"aggregated_value":null}]`,
		"not numbers":    `[{"label":"a","data":["NaN","Infinity",{},[]],"aggregated_value":"NaN"}]`,
		"too large":      `[{"label":"a","data":[1e999,-1e999,1e308,-1e308],"aggregated_value":1e308},{"data":[1e308,-1e308,1e308,-1e308],"aggregated_value":-1e308}]`,
		"too small":      `[{"label":"a","data":[5e-324,0,1e-310],"aggregated_value":5e-324}]`,
		"negative":       `[{"label":"a","data":[-1,-2],"aggregated_value":-3}]`,
		"a point":        `[{"label":"a","data":[1],"aggregated_value":1}]`,
		"zeros":          `[{"label":"a","data":[0,0,0],"aggregated_value":0}]`,
		"no points":      `[{"label":"a","data":[],"aggregated_value":0},{}]`,
		"of two lengths": `[{"label":"a","data":[1,2,3],"labels":["x"]},{"label":"b","data":[1]}]`,
		"very near":      `[{"label":"a","data":[1,1.0000000000000002],"aggregated_value":1}]`,
		"large fraction": `[{"label":"a","data":[123456789.5,0.000001],"aggregated_value":0.1}]`,
	}
	for name, results := range rows {
		for display := range displays {
			f := draw(fmt.Sprintf(`{"kind":"TrendsQuery","trendsFilter":{"display":%q}}`, display), results)
			wellFormed(t, f)
			for _, bad := range []string{"NaN", "Inf", "e+", "--"} {
				if positions := positionsOf(f.Picture); strings.Contains(positions, bad) {
					t.Errorf("%s as %s has places with %s: %.1000s", name, display, bad, positions)
				}
			}
			if len(f.Picture) > 256<<10 {
				t.Errorf("%s as %s has %d bytes", name, display, len(f.Picture))
			}
			for _, table := range f.Tables {
				if n := len(table.Rows) * len(table.Head); n > maxCells || len(table.Rows) > maxRows {
					t.Errorf("%s as %s has %d cells", name, display, n)
				}
			}
		}
	}
	f := draw(lineQuery, rows["10,000 series"])
	if fmt.Sprint(f.Notes[:2]) != "[The picture has the 10 largest of 10,000 series. The table has the first 500 of 10,000 rows.]" || !strings.Contains(string(f.Picture), ">s9999<") {
		t.Errorf("notes %q", f.Notes)
	}
}

// positionsOf returns the attributes of a picture's elements, without its texts.
func positionsOf(picture template.HTML) string {
	var b strings.Builder
	for _, element := range strings.Split(string(picture), "<") {
		attributes, _, _ := strings.Cut(element, ">")
		b.WriteString(attributes + "\n")
	}
	return b.String()
}

// A line with omitted points includes the minimum and maximum of each span.
func TestThinned_KeepsPeaks(t *testing.T) {
	data := make([]value, 100_000)
	for i := range data {
		data[i].ok = i < 70_000 || i > 80_000
	}
	data[12_345].v, data[54_321].v = 9, -9
	drawn, gap := map[int]bool{}, false
	for _, i := range thinOut(data) {
		drawn[i], gap = true, gap || !data[i].ok
	}
	if !drawn[12_345] || !drawn[54_321] || !drawn[99_999] || !gap || len(drawn) > maxPoints+2 {
		t.Errorf("%d points are kept, the peaks: %v %v, the last: %v, a gap: %v", len(drawn), drawn[12_345], drawn[54_321], drawn[99_999], gap)
	}
}

func TestNewAxis(t *testing.T) {
	for _, tt := range []struct {
		least, most float64
		whole       bool
		want        axis
	}{
		{0, 10, true, axis{0, 10, 5}}, {0, 8, true, axis{0, 8, 2}}, {0, 1, true, axis{0, 1, 1}}, {0, 1, false, axis{0, 1, 0.5}},
		{0, 0, true, axis{0, 1, 1}}, {-3, -1, true, axis{-3, 0, 1}}, {-5, 5, true, axis{-5, 5, 5}}, {2, 4321, true, axis{0, 6000, 2000}},
	} {
		if got := newAxis(tt.least, tt.most, tt.whole); got != tt.want {
			t.Errorf("from %g to %g: %v, want %v", tt.least, tt.most, got, tt.want)
		}
	}
}

func TestTexts(t *testing.T) {
	for f, want := range map[float64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234.5: "−1,234.5", 0.125: "0.12", 1e15: "1e+15", 0.001: "0.001", -0.0001: "−0.0001"} {
		if got := show(f); got != want {
			t.Errorf("%g is %q, want %q", f, got, want)
		}
	}
	for f, want := range map[float64]string{1500: "1.5k", 2e6: "2M", 999: "999", -3e9: "−3G"} {
		if got := short(f); got != want {
			t.Errorf("%g is %q in short, want %q", f, got, want)
		}
	}
	for s, want := range map[float64]string{5: "5 s", 90: "1.5 min", 7200: "2 h", 129600: "1.5 d"} {
		if got := seconds(s); got != want {
			t.Errorf("%g seconds are %q, want %q", s, got, want)
		}
	}
	if got := clean("ab\u202Ec\nd", 4); got != "ab\uFFFDc…" {
		t.Errorf("%q", got)
	}
	if got := (&format{Kind: "percentage_scaled"}).number(0.256); got != "25.6%" {
		t.Errorf("%q", got)
	}
}
