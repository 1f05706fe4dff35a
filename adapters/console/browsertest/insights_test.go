package browsertest

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"
)

// captureVisits sends the events of the fixture F1 (insights.md §4): page views and page leaves of
// four people in January 2020.
func (s *server) captureVisits() {
	s.t.Helper()
	browsers := map[string]string{"p1": "Chrome", "p2": "Firefox", "p3": "Edge", "p4": "Safari"}
	prop := map[string]int{"p1": 10, "p2": 20, "p3": 30, "p4": 40}
	events := []map[string]any{}
	for name, days := range map[string]map[string][]string{
		"$pageview":  {"p1": {"11", "12", "13", "15", "17", "19"}, "p2": {"09", "12"}, "p3": {"12"}, "p4": {"15"}},
		"$pageleave": {"p1": {"11", "12", "13"}, "p2": {"13"}, "p3": {"13"}, "p4": {"16"}},
	} {
		for person, list := range days {
			for _, day := range list {
				events = append(events, map[string]any{"event": name, "distinct_id": person, "timestamp": "2020-01-" + day + "T12:00:00Z", "properties": map[string]any{"$browser": browsers[person], "prop": prop[person]}})
			}
		}
	}
	s.api("POST", "/batch/", map[string]any{"api_key": s.publicKey, "historical_migration": true, "batch": events}, nil)
}

// numbers returns a row of the table Values: its cells after the first.
func (p *page) numbers(row string) []string {
	p.t.Helper()
	return js[[]string](p, "[...(document.querySelector('table[aria-label=Values] "+row+"')?.cells ?? [])].slice(1).map(c => c.innerText)")
}

// waitTotals waits for the columns and the last row of the table Values.
func (p *page) waitTotals(columns, totals string) {
	p.t.Helper()
	eventually(p.t, columns+" with "+totals, func() bool {
		return strings.Join(p.numbers("thead tr"), "|") == columns && strings.Join(p.numbers("tfoot tr"), "|") == totals
	})
}

func (p *page) chooseDays(from, to string) {
	p.t.Helper()
	p.choose("Chosen days", "combobox", "Period")
	for name, day := range map[string]string{"From": from, "To": to} {
		p.fill(day, "textbox", name)
		p.enter()
	}
}

// Filters of a series and of the question, several series, formulas, the previous period, breakdowns
// with a limit and names of columns (console.md §3.8; the numbers are in insights.md §4 on F1).
func TestInsights_Questions(t *testing.T) {
	s := serve(t)
	s.captureVisits()
	p := s.open(t, "p/1/insights/new")
	p.fill("Visits", "textbox", "Name")
	p.fill("$pageview", "combobox", "Event")
	p.enter()
	p.chooseDays("2020-01-09", "2020-01-20")
	p.waitTotals("$pageview", "10")

	p.click("button", "Add series")
	p.fill("$pageleave", "group", "Series 2", "combobox", "Event")
	p.enter()
	p.waitTotals("$pageview|$pageleave|Total", "10|6|16")
	p.fill("A+2*B", "textbox", "Formula")
	p.enter()
	p.waitTotals("A+2*B", "22")
	p.fill("Both", "textbox", "Name of the formula")
	p.enter()
	p.chooseDays("2020-01-15", "2020-01-19")
	p.choose("Previous period", "combobox", "Compare with")
	p.waitTotals("Both|Both, previous period", "6|15")
	p.accessible()
	p.choose("Number", "combobox", "Chart")
	eventually(t, "6 of 15", func() bool { return strings.Join(p.numbers("tbody tr"), "|") == "6|15|−60 %" })
	if got := js[string](p, "document.querySelector('.big-numbers').innerText"); !strings.Contains(got, "−60 % compared with 15 in the previous period") {
		t.Errorf("the number is %q", got)
	}
	p.choose("Line", "combobox", "Chart")

	p.choose("Nothing", "combobox", "Compare with")
	p.chooseDays("2020-01-09", "2020-01-20")
	p.callFunction(p.node("textbox", "Formula"), "function() { this.value = ''; this.dispatchEvent(new Event('change', {bubbles: true})); }")
	p.click("button", "Add filter to series 2")
	p.fill("prop", "group", "Series 2", "group", "Filter 1", "combobox", "Property")
	p.enter()
	p.choose("is at least", "group", "Series 2", "group", "Filter 1", "combobox", "Operator")
	p.fill("30", "group", "Series 2", "group", "Filter 1", "combobox", "Value")
	p.enter()
	p.waitTotals("$pageview|$pageleave|Total", "10|2|12")
	p.click("group", "Filters", "button", "Add filter")
	p.fill("$browser", "group", "Filters", "group", "Filter 1", "combobox", "Property")
	p.enter()
	for _, browser := range []string{"Chrome", "Edge"} {
		p.fill(browser, "group", "Filters", "group", "Filter 1", "combobox", "Value")
		p.enter()
	}
	p.waitTotals("$pageview|$pageleave|Total", "7|1|8")
	p.fill("$browser", "combobox", "Break down by")
	p.enter()
	p.waitTotals("$pageview: Chrome|$pageview: Edge|$pageleave: Edge|Total", "6|1|1|8")
	p.accessible()

	var saved struct {
		Query struct{ Source map[string]any }
	}
	p.click("button", "Save")
	p.waitAnnounced("Saved")
	p.node("heading", "Visits")
	s.api("GET", "/api/projects/1/insights/1/", nil, &saved)
	got, _ := json.Marshal(saved.Query.Source)
	const want = `{"breakdownFilter":{"breakdown":"$browser","breakdown_type":"event"},"dateRange":{"date_from":"2020-01-09","date_to":"2020-01-20"},"interval":"day","kind":"TrendsQuery",` +
		`"properties":[{"key":"$browser","operator":"exact","type":"event","value":["Chrome","Edge"]}],` +
		`"series":[{"event":"$pageview","kind":"EventsNode"},{"event":"$pageleave","kind":"EventsNode","properties":[{"key":"prop","operator":"gte","type":"event","value":"30"}]}],"trendsFilter":{"display":"ActionsLineGraph"}}`
	if string(got) != want {
		t.Errorf("saved is\n%s\nwant\n%s", got, want)
	}
	for _, kind := range []string{"Funnel", "Retention", "Lifecycle", "Stickiness"} {
		p.choose(kind, "combobox", "Kind")
		p.waitLoaded()
		p.node("group", "Filters", "group", "Filter 1")
		p.node("table", "Values")
	}
}

// The address has PostHog's query. Members without a field are displayed, apply, and are not lost when the
// insight is saved. One limits breakdown values, and the rest is one column.
func TestInsights_QueryInAddress(t *testing.T) {
	s := serve(t)
	s.captureVisits()
	const query = `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"$pageview","math":"sum","math_property":"prop","math_multiplier":2}],"dateRange":{"date_from":"2020-01-09","date_to":"2020-01-20"},` +
		`"properties":{"type":"OR","values":[{"type":"AND","values":[{"key":"prop","type":"event","operator":"gte","value":10}]},{"type":"AND","values":[{"key":"$browser","type":"event","value":"Edge"}]}]},` +
		`"breakdownFilter":{"breakdowns":[{"property":"$browser","type":"event"}],"breakdown_limit":25},"trendsFilter":{"display":"ActionsBarValue","showLegend":true}}`
	p := s.open(t, "p/1/insights/new?query="+url.QueryEscape(query))
	rows := func() string {
		return js[string](p, "[...document.querySelectorAll('table[aria-label=Values] tbody tr')].map(r => [...r.cells].map(c => c.innerText).join(' ')).join('|')")
	}
	eventually(t, "the doubled sums of F1", func() bool { return rows() == "Chrome 120|Firefox 80|Safari 80|Edge 60" })
	p.click("StaticText", "Other settings: 3")
	text := js[string](p, "document.querySelector('details dl').innerText")
	for _, want := range []string{"series.0.math_multiplier", "trendsFilter.showLegend", "properties", `{"type":"OR"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not among the other settings\n%s", want, text)
		}
	}
	p.accessible()
	p.callFunction(p.node("spinbutton", "Most values"), "function() { this.value = 1; this.dispatchEvent(new Event('change', {bubbles: true})); }")
	eventually(t, "the rest in one row", func() bool { return rows() == "Chrome 120|Other 220" })
	address := js[string](p, "location.search")
	p.fill("Sums", "textbox", "Name")
	p.click("button", "Save")
	p.node("heading", "Sums")
	var saved struct {
		Query struct{ Source map[string]any }
	}
	s.api("GET", "/api/projects/1/insights/1/", nil, &saved)
	var before map[string]any
	if err := json.Unmarshal([]byte(query), &before); err != nil {
		t.Fatal(err)
	}
	before["breakdownFilter"].(map[string]any)["breakdown_limit"] = 1.0
	before["interval"] = "day"
	if got, want := saved.Query.Source, before; !sameJSON(got, want) {
		t.Errorf("saved is\n%v\nwant what was sent, with the limit\n%v", got, want)
	}
	if got := js[string](p, "location.search"); got != "" {
		t.Errorf("the address of a saved insight has %q", got)
	}
	p.visit("p/1/insights/new" + address)
	eventually(t, "the same in a new page", func() bool { return rows() == "Chrome 120|Other 220" })
}

func sameJSON(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// A day by hour has 24 rows, and the last 24 hours too, the present hour with them.
func TestInsights_HoursOfADay(t *testing.T) {
	s := serve(t)
	s.capture(map[string]any{"event": "order placed", "distinct_id": "ana", "timestamp": time.Now().Add(-time.Hour)})
	s.capture(map[string]any{"event": "order placed", "distinct_id": "ana", "timestamp": "2026-01-02T23:59:30Z"}, map[string]any{"event": "order placed", "distinct_id": "ana", "timestamp": "2026-01-03T00:00:00Z"})
	p := s.open(t, "p/1/insights/new")
	p.fill("order placed", "combobox", "Event")
	p.enter()
	p.choose("Hour", "combobox", "Interval")
	// rows has the first and the last hour, and the number of hours.
	rows := func() string {
		return js[string](p, "(rows => [rows[0], rows.at(-1), rows.length].join(' '))([...document.querySelectorAll('table[aria-label=Values] tbody tr')].map(r => r.cells[0].innerText))")
	}
	yesterday := time.Now().UTC().AddDate(0, 0, -1).Format("2 Jan")
	p.choose("Yesterday", "combobox", "Period")
	eventually(t, "the hours of yesterday", func() bool { return rows() == yesterday+", 00:00 "+yesterday+", 23:00 24" })
	p.choose("Last 24 hours", "combobox", "Period")
	eventually(t, "the present hour and 23 before", func() bool {
		now := time.Now().UTC()
		return rows() == now.Add(-23*time.Hour).Format("2 Jan, 15:00 ")+now.Format("2 Jan, 15:00")+" 24"
	})
	p.chooseDays("2026-01-02", "2026-01-02")
	eventually(t, "the hours of 2 January", func() bool { return rows() == "2 Jan, 00:00 2 Jan, 23:00 24" })
	p.waitTotals("order placed", "1")
}
